#include "linac/control/http/server/given_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "linac/base/base/error.h"

namespace linac::http {
namespace {

constexpr int kFirst = 3;

bool listens(int socket) {
  int on = 0;
  socklen_t size = sizeof on;
  return ::getsockopt(socket, SOL_SOCKET, SO_ACCEPTCONN, &on, &size) == 0 && on != 0;
}

std::optional<Address> address_of(int socket) {
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  if (!listens(socket) || ::getsockname(socket, reinterpret_cast<sockaddr*>(&own), &size) != 0) return std::nullopt;
  char host[INET6_ADDRSTRLEN] = {};
  if (own.ss_family == AF_INET) {
    const auto& four = reinterpret_cast<const sockaddr_in&>(own);
    ::inet_ntop(AF_INET, &four.sin_addr, host, sizeof host);
    return Address{host, ntohs(four.sin_port), (ntohl(four.sin_addr.s_addr) >> 24) == IN_LOOPBACKNET};
  }
  if (own.ss_family == AF_INET6) {
    const auto& six = reinterpret_cast<const sockaddr_in6&>(own);
    ::inet_ntop(AF_INET6, &six.sin6_addr, host, sizeof host);
    return Address{host, ntohs(six.sin6_port), IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0};
  }
  return std::nullopt;
}

}  // namespace

std::optional<GivenSocket> given_socket() {
  const char *process = std::getenv("LISTEN_PID"), *count = std::getenv("LISTEN_FDS");
  const bool for_us = process != nullptr && count != nullptr && process == std::to_string(::getpid());
  const std::string sockets = for_us ? count : "0";
  for (const char* name : {"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"}) ::unsetenv(name);
  if (sockets == "0") return std::nullopt;
  if (sockets != "1") throw user_error("[serve] it was given " + sockets + " sockets (LISTEN_FDS); give it one");
  ::fcntl(kFirst, F_SETFD, FD_CLOEXEC);
  const auto address = address_of(kFirst);
  if (!address) throw user_error("[serve] what it was given (LISTEN_FDS) is no TCP socket that listens");
  return GivenSocket{kFirst, *address};
}

}  // namespace linac::http
