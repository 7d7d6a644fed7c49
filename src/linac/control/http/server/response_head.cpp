#include "linac/control/http/server/response_head.h"

#include <boost/beast/http/status.hpp>

#include "linac/base/base/version.h"

namespace linac::http {
namespace {

namespace http = boost::beast::http;

/// No value can begin a line of its own.
void add(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ");
  for (const char c : value) head.push_back(c == '\r' || c == '\n' || c == '\0' ? ' ' : c);
  head.append("\r\n");
}

}  // namespace

std::string response_head(const Response& response, std::optional<int64_t> length, bool keep_alive) {
  const auto reason = http::obsolete_reason(static_cast<http::status>(response.status));
  std::string head = "HTTP/1.1 " + std::to_string(response.status) + " ";
  head.append(reason.data(), reason.size()).append("\r\n");
  add(head, "Server", std::string("linac/") + kVersion);
  add(head, "Content-Type", response.type);
  for (const auto& [name, value] : response.headers) add(head, name, value);
  if (length) add(head, "Content-Length", std::to_string(*length));
  add(head, "Connection", keep_alive ? "keep-alive" : "close");
  return head + "\r\n";
}

}  // namespace linac::http
