#include "linac/train/comm/meeting/sockets.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"

namespace linac::comm {
namespace {

constexpr int kBacklog = 1024;

std::string numeric(const sockaddr* address, socklen_t length) {
  char host[NI_MAXHOST];
  if (getnameinfo(address, length, host, sizeof host, nullptr, 0, NI_NUMERICHOST) != 0) return "";
  return host;
}

// Valid beyond the link that it is on: others of fe80::/10 need the name of an interface beside them.
bool reaches_far(const sockaddr* address) {
  return address->sa_family == AF_INET ||
         (address->sa_family == AF_INET6 &&
          !IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr));
}

// The first address of an interface that `wanted` accepts, IPv4 before IPv6, or "".
std::string first_address(const std::function<bool(const ifaddrs&)>& wanted) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return "";
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != family || !reaches_far(one->ifa_addr)) continue;
      if (wanted(*one)) return numeric(one->ifa_addr, family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
    }
  }
  return "";
}

std::string first_public_address() {
  return first_address(
      [](const ifaddrs& one) { return (one.ifa_flags & IFF_UP) != 0 && (one.ifa_flags & IFF_LOOPBACK) == 0; });
}

std::vector<SocketAddress> resolve(const std::string& host, int port, int flags, int& status) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* list = nullptr;
  status = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (status != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::vector<SocketAddress> found;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    SocketAddress& address = found.emplace_back();
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.size = one->ai_addrlen;
  }
  std::stable_partition(found.begin(), found.end(),
                        [](const SocketAddress& one) { return one.storage.ss_family == AF_INET; });
  return found;
}

// Connecting a datagram socket sends nothing: the kernel only chooses the route, hence our address on it. "" if none.
std::string own_address_towards(const SocketAddress& there) {
  const Descriptor socket(::socket(there.storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress mine{.size = sizeof(sockaddr_storage)};
  if (!socket || connect(socket.get(), there.get(), there.size) != 0 ||
      getsockname(socket.get(), reinterpret_cast<sockaddr*>(&mine.storage), &mine.size) != 0 ||
      !reaches_far(mine.get()))
    return "";
  return numeric(mine.get(), mine.size);
}

// The listening socket, or -1 with errno.
int try_listening(const SocketAddress& address) {
  const int socket = ::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const int on = 1, off = 0;
  setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (address.storage.ss_family == AF_INET6)
    setsockopt(socket, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);  // "::" takes IPv4 too
  if (bind(socket, address.get(), address.size) == 0 && listen(socket, kBacklog) == 0) return socket;
  const int error = errno;
  ::close(socket);
  errno = error;
  return -1;
}

SocketAddress numeric_address(const std::string& addr, int port) {
  int status = 0;
  const auto found = resolve(addr, port, AI_NUMERICHOST, status);
  if (found.empty()) {
    throw environment_error(
        fmt::format("[comm] '{}' is not a numeric address; use one such as 10.0.0.1, fd00::1, 0.0.0.0 or ::", addr));
  }
  return found.front();
}

}  // namespace

bool is_loopback(const std::string& addr) {
  return addr == "localhost" || addr == "::1" || addr.starts_with("127.");
}

std::string host_and_port(const std::string& host, int port) {
  return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string host_in(const std::string& address) {
  const std::string host = address.substr(0, address.rfind(':'));
  const bool brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  return brackets ? host.substr(1, host.size() - 2) : host;
}

std::string without_group(const std::string& address) {
  return address.substr(address.find('/') + 1);
}

SocketAddress socket_address(const std::string& address) {
  const size_t colon = address.rfind(':');
  const char* const end = address.data() + address.size();
  int port = 0;
  if (colon != std::string::npos) {
    const auto [stop, status] = std::from_chars(address.data() + colon + 1, end, port);
    if (status != std::errc{} || stop != end) port = 0;
  }
  const std::string host = host_in(address);
  int status = 0;
  const auto found = port >= 1 && port <= 65535 && host_and_port(host, port) == address
                         ? resolve(host, port, AI_NUMERICHOST, status)
                         : std::vector<SocketAddress>{};
  if (found.empty()) {
    throw environment_error(
        fmt::format("[comm] '{}' is not an address; expected e.g. 10.0.0.3:41233 or [fd00::3]:41233", address));
  }
  return found.front();
}

int listen_at(const std::string& addr, int port) {
  const int descriptor = try_listening(numeric_address(addr, port));
  if (descriptor < 0) {
    throw environment_error(fmt::format("[comm] cannot listen at {} ({}); choose another {}", host_and_port(addr, port),
                                        std::strerror(errno), port == 0 ? "address" : "port"));
  }
  return descriptor;
}

int listen_at(const std::string& addr, const PortRange& ports) {
  if (ports.first == ports.last) return listen_at(addr, ports.first);
  for (int port = ports.first; port <= ports.last; ++port) {
    const int descriptor = try_listening(numeric_address(addr, port));
    if (descriptor >= 0) return descriptor;
    if (errno != EADDRINUSE && errno != EACCES) return listen_at(addr, port);  // which says why not
  }
  throw environment_error(fmt::format("[comm] no port from {} to {} is free at {}; set LINAC_PORTS to a wider range",
                                      ports.first, ports.last, addr));
}

int port_of(int socket) {
  SocketAddress mine{.size = sizeof(sockaddr_storage)};
  LINAC_CHECK(getsockname(socket, reinterpret_cast<sockaddr*>(&mine.storage), &mine.size) == 0);
  return ntohs(mine.storage.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6*>(&mine.storage)->sin6_port
                                                  : reinterpret_cast<const sockaddr_in*>(&mine.storage)->sin_port);
}

std::string any_address() {
  const Descriptor probe(try_listening(numeric_address("::", 0)));
  return probe ? "::" : "0.0.0.0";
}

bool is_any_address(const std::string& addr) {
  return addr == "::" || addr == "0.0.0.0";
}

std::string host_to_call(const std::string& addr) {
  return addr == "::1" ? addr : "127.0.0.1";
}

std::string local_address_towards(const std::string& host, int port) {
  int status = 0;
  const auto candidates = resolve(host, port, 0, status);
  if (status != 0) {
    throw environment_error(fmt::format("[comm] the master's host '{}' is unknown here ({}); correct MASTER_ADDR", host,
                                        gai_strerror(status)));
  }
  std::string found;
  for (size_t i = 0; i < candidates.size() && found.empty(); ++i) found = own_address_towards(candidates[i]);
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
        fmt::format("[comm] the interface '{}' has no address here; correct GLOO_SOCKET_IFNAME", interface));
  }
  return found;
}

std::string advertised_address(const std::string& host) {
  int status = 0;
  const auto found = resolve(host, 0, 0, status);
  const std::string text = found.empty() ? "" : numeric(found.front().get(), found.front().size);
  if (text.empty() || is_any_address(text)) {
    throw user_error(fmt::format("[comm] LINAC_ADVERTISE='{}' is no address at which others find this worker ({})",
                                 host, text.empty() ? gai_strerror(status) : "it stands for all of them"));
  }
  return text;
}

void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

void broken_pipes_are_errors() {
  struct sigaction action = {};
  if (sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL) signal(SIGPIPE, SIG_IGN);
}

}  // namespace linac::comm
