#include "linac/control/client/service_certificate.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "linac/base/base/hex.h"
#include "linac/io/net/http_client.h"

namespace linac::client {
namespace {

constexpr std::string_view kPlain = "http://";

}  // namespace

std::string certificate_of_service(const Login& login) {
  constexpr size_t kDigits = 64;
  if (!login.server.starts_with(kPlain) || !net::is_loopback(login.server)) return "";
  const char* const unproven = std::getenv("LINAC_UNPROVEN");
  if (unproven != nullptr && std::string_view(unproven) == "1") return "";
  const std::string& token = login.token;  // linac_ID_SECRET_CERTIFICATE
  if (!token.starts_with("linac_") || std::count(token.begin(), token.end(), '_') != 3) return "";
  const std::string last = token.substr(token.rfind('_') + 1);
  return last.size() == kDigits && is_hex(last) ? last : "";
}

std::string by_tls(const std::string& server) {
  const size_t host = kPlain.size();
  const size_t end = std::min(server.find('/', host), server.size());
  const size_t behind = server[host] == '[' ? server.find(']', host) : host;  // an address of IPv6 has colons, too
  const char* const port = server.find(':', behind) < end ? "" : ":80";
  return "https://" + server.substr(host, end - host) + port + server.substr(end);
}

}  // namespace linac::client
