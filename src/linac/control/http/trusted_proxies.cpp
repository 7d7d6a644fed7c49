#include "linac/control/http/trusted_proxies.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"

namespace linac::http {
namespace {

std::string trimmed(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

TrustedProxies::TrustedProxies(const std::vector<std::string>& addresses) {
  for (const std::string& text : addresses)
    if (!networks_.add(text))
      throw user_error(fmt::format("[serve] --trusted-proxy {}: no address (wanted: e.g. 10.1.2.3, 10.1.0.0/16 or ::1)",
                                   printable(text)));
}

std::string TrustedProxies::client(const std::string& from, const std::map<std::string, std::string>& headers) const {
  if (!contains(from)) return from;
  const auto header = headers.find("x-forwarded-for");
  if (header == headers.end()) return from;
  std::string nearest = from, left = header->second;
  while (!left.empty()) {  // from the last, which the proxy itself has added
    const size_t comma = left.rfind(',');
    const std::string address = trimmed(comma == std::string::npos ? left : left.substr(comma + 1));
    if (!is_ip_address(address)) return nearest;  // nobody knows who wrote what is in front of it
    nearest = address;
    if (!contains(address)) return nearest;
    left.resize(comma == std::string::npos ? 0 : comma);
  }
  return nearest;
}

bool TrustedProxies::secure(const std::string& from, const std::map<std::string, std::string>& headers) const {
  const auto header = headers.find("x-forwarded-proto");
  return header != headers.end() && header->second == "https" && contains(from);
}

}  // namespace linac::http
