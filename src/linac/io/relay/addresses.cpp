#include "linac/io/relay/addresses.h"

#include <fmt/format.h>
#include <netdb.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"

namespace linac::relay {
namespace {

constexpr int kBacklog = 1024;

}  // namespace

Address look_up(std::string_view text, const std::string& source, bool to_listen) {
  Address address;
  const size_t colon = text.rfind(':');
  std::string_view host = text.substr(0, colon == std::string_view::npos ? 0 : colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
  const char* const end = text.data() + text.size();
  const auto [stop, status] =
      std::from_chars(colon == std::string_view::npos ? end : text.data() + colon + 1, end, address.port);
  if (host.empty() || status != std::errc{} || stop != end || address.port < (to_listen ? 0 : 1) ||
      address.port > 65535)
    throw user_error(fmt::format("[relay] {}: '{}' is not HOST:PORT, e.g. relay.example.org:4711; correct it", source,
                                 printable(text)));
  address.host = host;
  addrinfo hints{}, *list = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (to_listen ? AI_PASSIVE : 0);
  if (const int failure = getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list))
    throw environment_error(fmt::format("[relay] {}: the host '{}' is unknown here ({}); correct it", source,
                                        printable(address.host), gai_strerror(failure)));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(list, freeaddrinfo);
  std::memcpy(&address.storage, list->ai_addr, list->ai_addrlen);
  address.size = list->ai_addrlen;
  return address;
}

Descriptor listen_at(const Address& address) {
  Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int on = 1;
  if (socket) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (!socket || bind(socket.get(), address.get(), address.size) != 0 || ::listen(socket.get(), kBacklog) != 0)
    throw environment_error(fmt::format("[relay] cannot listen at {} port {} ({}); choose another --listen",
                                        address.host, address.port, std::strerror(errno)));
  return socket;
}

std::string host_of(const Address& address) {
  char host[NI_MAXHOST];
  return getnameinfo(address.get(), address.size, host, sizeof host, nullptr, 0, NI_NUMERICHOST) == 0 ? host : "";
}

std::string listening_at(int socket) {
  Address mine;
  mine.size = sizeof mine.storage;
  char host[NI_MAXHOST], port[NI_MAXSERV];
  LINAC_CHECK(
      getsockname(socket, reinterpret_cast<sockaddr*>(&mine.storage), &mine.size) == 0 &&
      getnameinfo(mine.get(), mine.size, host, sizeof host, port, sizeof port, NI_NUMERICHOST | NI_NUMERICSERV) == 0);
  return mine.storage.ss_family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

}  // namespace linac::relay
