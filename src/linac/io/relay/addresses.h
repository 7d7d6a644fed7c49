#pragma once
// Addresses of relays, looked up. Thread-safe.

#include <sys/socket.h>

#include <string>
#include <string_view>

#include "linac/base/base/descriptor.h"

namespace linac::relay {

struct Address {
  std::string host;
  int port = 0;
  sockaddr_storage storage{};
  socklen_t size = 0;
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

/// Of "relay.example.org:4711" or "[fd00::3]:4711"; the first that the system names. `source`: what says so, for
/// messages. User error for text that is none, with port 0 unless `to_listen`; environment error when the host is
/// unknown.
Address look_up(std::string_view text, const std::string& source, bool to_listen = false);

/// Environment error when that fails.
Descriptor listen_at(const Address& address);
/// "10.0.0.3"; empty where the system does not say.
std::string host_of(const Address& address);
/// "10.0.0.3:4711", with the port that the system gave.
std::string listening_at(int socket);

}  // namespace linac::relay
