#include "linac/control/http/server/response_head.h"

#include <boost/beast/http/status.hpp>

#include "linac/base/base/version.h"

namespace linac::http {
namespace {

namespace http = boost::beast::http;

/// No value can begin a line of its own.
void add(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  const size_t begin = head.size();
  head.append(value);
  for (char *c = head.data() + begin, *const end = head.data() + head.size(); c != end; ++c)
    if (*c == '\r' || *c == '\n' || *c == '\0') *c = ' ';
  head.append("\r\n");
}

}  // namespace

std::string response_head(const Response& response, std::optional<int64_t> length, bool keep_alive) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  constexpr size_t kMostHaveLess = 512;
  std::string head;
  head.reserve(kMostHaveLess);
  head.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  head.append(reason.data(), reason.size()).append("\r\n");
  static const std::string kServer = std::string("linac/") + kVersion;
  add(head, "Server", kServer);
  add(head, "Content-Type", response.type);
  for (const auto& [name, value] : response.headers) add(head, name, value);
  if (length) add(head, "Content-Length", std::to_string(*length));
  add(head, "Connection", keep_alive ? "keep-alive" : "close");
  head.append("\r\n");
  return head;
}

}  // namespace linac::http
