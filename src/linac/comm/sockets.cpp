#include "linac/comm/sockets.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>

#include "linac/base/error.h"

namespace linac::comm {
namespace {

constexpr int kBacklog = 1024;

std::string numeric(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST];
  if (getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

// The first IPv4 address of an interface that `wanted` accepts, or "".
std::string first_address(const std::function<bool(const ifaddrs&)>& wanted) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr != nullptr && one->ifa_addr->sa_family == AF_INET && wanted(*one))
      return numeric(one->ifa_addr, sizeof(sockaddr_in));
  }
  return "";
}

std::string first_public_address() {
  return first_address(
      [](const ifaddrs& one) { return (one.ifa_flags & IFF_UP) != 0 && (one.ifa_flags & IFF_LOOPBACK) == 0; });
}

}  // namespace

bool is_loopback(const std::string& addr) {
  return addr == "localhost" || addr == "::1" || addr.starts_with("127.");
}

int listen_at(const std::string& addr, int port) {
  const auto failed = [&](const char* what) {
    return environment_error(fmt::format("[comm] cannot serve the store at {}:{} ({}: {}); choose another port", addr,
                                         port, what, std::strerror(errno)));
  };
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (inet_pton(AF_INET, addr.c_str(), &address.sin_addr) != 1) {
    throw environment_error(fmt::format("[comm] '{}' is not a numeric IPv4 address; use 127.0.0.1 or 0.0.0.0", addr));
  }
  const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) throw failed("socket");
  const int on = 1;
  setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
      listen(descriptor, kBacklog) != 0) {
    const auto error = failed("bind");
    ::close(descriptor);
    throw error;
  }
  return descriptor;
}

std::string local_address_towards(const std::string& host, int port) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* list = nullptr;
  const int status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (status != 0) {
    throw environment_error(fmt::format("[comm] the master's host '{}' is unknown here ({}); correct MASTER_ADDR", host,
                                        gai_strerror(status)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::string found;
  for (const addrinfo* one = list; one != nullptr && found.empty(); one = one->ai_next) {
    // Connecting a datagram socket sends nothing: the kernel only chooses the route, hence our address on it.
    const int descriptor = socket(one->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (descriptor < 0) continue;
    sockaddr_storage mine = {};
    socklen_t length = sizeof mine;
    if (connect(descriptor, one->ai_addr, one->ai_addrlen) == 0 &&
        getsockname(descriptor, reinterpret_cast<sockaddr*>(&mine), &length) == 0) {
      found = numeric(reinterpret_cast<const sockaddr*>(&mine), length);
    }
    ::close(descriptor);
  }
  if (found.empty() || (is_loopback(found) && !is_loopback(host))) {
    if (const auto other = first_public_address(); !other.empty()) return other;
  }
  if (found.empty()) {
    throw environment_error(fmt::format("[comm] no route to the master '{}'; set GLOO_SOCKET_IFNAME", host));
  }
  return found;
}

std::string interface_address(const std::string& interface) {
  const std::string found = first_address([&](const ifaddrs& one) { return one.ifa_name == interface; });
  if (found.empty()) {
    throw user_error(
        fmt::format("[comm] the interface '{}' has no IPv4 address here; correct GLOO_SOCKET_IFNAME", interface));
  }
  return found;
}

}  // namespace linac::comm
