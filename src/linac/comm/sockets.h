#pragma once
// The few questions about addresses that the system leaves to its caller. Thread-safe.

#include <string>

namespace linac::comm {

/// "localhost", "127.x.y.z" or "::1".
bool is_loopback(const std::string& addr);

/// A listening TCP socket bound to `addr` (a numeric IPv4 address) and `port` (0: a free one); the caller owns the
/// descriptor. Environment error when that fails.
int listen_at(const std::string& addr, int port);

/// The numeric address of this machine on the way to `host`. When that is a loopback address though `host` is not (a
/// machine's own name often resolves so), the first other IPv4 address of the machine. Environment error when `host` is
/// unknown.
std::string local_address_towards(const std::string& host, int port);

/// The first IPv4 address of a network interface. User error naming GLOO_SOCKET_IFNAME, the variable that it comes
/// from, if there is none.
std::string interface_address(const std::string& interface);

}  // namespace linac::comm
