#pragma once
// The few questions about addresses that the system leaves to its caller. IPv4 and IPv6. Thread-safe.

#include <sys/socket.h>

#include <string>

#include "linac/train/comm/meeting/rendezvous.h"

namespace linac::comm {

/// "localhost", "127.x.y.z" or "::1".
bool is_loopback(const std::string& addr);

/// "10.0.0.3:41233", "[fd00::3]:41233".
std::string host_and_port(const std::string& host, int port);
/// The host of such a text, without brackets.
std::string host_in(const std::string& address);

/// Workers that reach each other by relays alone have addresses "GROUP/HOST:PORT" (transport/ways.h): what is behind the
/// group, or all of another address.
std::string without_group(const std::string& address);

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};
/// What host_and_port() makes of a numeric host and a port from 1; environment error for anything else.
SocketAddress socket_address(const std::string& address);

/// A listening TCP socket bound to `addr` (a numeric address; "::" takes IPv4 too) and `port` (0: a free one); the
/// caller owns the descriptor. Environment error when that fails.
int listen_at(const std::string& addr, int port);
/// The same at the first port of the range that is free.
int listen_at(const std::string& addr, const PortRange& ports);
/// The port that a socket is bound to.
int port_of(int socket);

/// "::", where every address of this machine can be listened at with one socket, else "0.0.0.0".
std::string any_address();
/// Whether that is one of these two.
bool is_any_address(const std::string& addr);
/// How a process reaches what listens at `addr` on its own machine.
std::string host_to_call(const std::string& addr);

/// The numeric address of this machine on the way to `host`. Of the addresses that a name has, those of IPv4 are tried
/// first: all workers are to be found by the same kind. When that is a loopback address though `host` is not (a
/// machine's own name often resolves so), the first other address of the machine. Environment error when `host` is
/// unknown or there is no way to it.
std::string local_address_towards(const std::string& host, int port);

/// The first IPv4 address of a network interface, else the first of IPv6 that is valid beyond the link. User error
/// naming GLOO_SOCKET_IFNAME, the variable that it comes from, if there is none.
std::string interface_address(const std::string& interface);

/// The first address of a name or a numeric address, as text; IPv4 first. User error naming LINAC_ADVERTISE if it is
/// unknown here.
std::string advertised_address(const std::string& host);

/// Lets this process open as many files and sockets as it may: hundreds of workers need more than the usual 1,024.
void raise_descriptor_limit();

/// From here on a write to a connection whose other end has died is an error of the call; the signal that comes with it
/// by default would end the process without a word. A handler of the program's own stays.
void broken_pipes_are_errors();

}  // namespace linac::comm
