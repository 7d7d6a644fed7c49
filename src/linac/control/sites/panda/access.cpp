#include "linac/control/sites/panda/access.h"

#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "linac/base/base/base64.h"
#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"

namespace linac::sites {
namespace {

using nlohmann::json;
constexpr const char* kServer = "https://pandaserver.cern.ch";
constexpr const char* kCache = "https://pandacache.cern.ch";
constexpr const char* kAuthorities = "/etc/grid-security/certificates";
constexpr std::streamsize kTokenBytesMax = 1 << 16;

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// "https://host:25443/server/panda" without its path.
std::string without_path(const std::string& url) {
  const size_t host = url.find("://");
  return url.substr(0, url.find('/', host == std::string::npos ? 0 : host + 3));
}

// A FIFO or a device in its place would never end.
std::string content(const std::filesystem::path& file) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return "";
  std::ifstream in(file, std::ios::binary);
  std::string text(kTokenBytesMax, '\0');
  in.read(text.data(), kTokenBytesMax);
  text.resize(static_cast<size_t>(in.gcount()));
  const size_t end = text.find_last_not_of(" \r\n");
  return text.substr(0, end == std::string::npos ? 0 : end + 1);
}

// What the part of a token in the middle says of its end; not checked, as that is the server's to do.
bool has_expired(const std::string& token) {
  const size_t first = token.find('.'), second = token.find('.', first + 1);
  if (first == std::string::npos || second == std::string::npos) return false;
  std::string part = token.substr(first + 1, second - first - 1);
  for (char& c : part) c = c == '-' ? '+' : c == '_' ? '/' : c;
  const auto text = base64_decoded(part);
  const json claims = text ? json::parse(*text, nullptr, false) : json();
  if (!claims.is_object() || !claims.contains("exp") || !claims["exp"].is_number()) return false;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return claims["exp"].get<double>() <=
         static_cast<double>(std::chrono::duration_cast<std::chrono::seconds>(now).count());
}

std::string find_token(const std::string& place) {
  std::string token = variable("PANDA_AUTH_ID_TOKEN");
  if (token.empty() && !variable("OIDC_AUTH_TOKEN_FILE").empty()) {
    token = content(variable("OIDC_AUTH_TOKEN_FILE"));
    if (token.empty())
      throw user_error(fmt::format("{}: {}, which OIDC_AUTH_TOKEN_FILE names, is no file with a token", place,
                                   printable(variable("OIDC_AUTH_TOKEN_FILE"))));
  }
  if (token.empty()) token = variable("OIDC_AUTH_ID_TOKEN");
  // That which panda-client has fetched for itself and renews.
  if (token.empty()) {
    const std::string root = variable("PANDA_CONFIG_ROOT");
    const json kept = json::parse(content(std::filesystem::path(root.empty() ? "." : root) / ".token"), nullptr, false);
    if (kept.is_object() && kept.contains("id_token") && kept["id_token"].is_string())
      token = kept["id_token"].get<std::string>();
  }
  if (token.empty())
    throw user_error(
        fmt::format("{}: PANDA_AUTH is oidc and there is no token (PANDA_AUTH_ID_TOKEN, OIDC_AUTH_TOKEN_FILE, or "
                    ".token in PANDA_CONFIG_ROOT); `pbook` fetches one",
                    place));
  if (token.find_first_of("\r\n") != std::string::npos)
    throw user_error(fmt::format("{}: the token has several lines; it is one word", place));
  if (has_expired(token))
    throw user_error(fmt::format("{}: the token of OIDC has expired; `pbook` fetches a new one", place));
  return token;
}

}  // namespace

PandaAccess panda_server(const PandaSettings& settings) {
  PandaAccess access;
  const std::string named = settings.server.empty() ? variable("PANDA_URL_SSL") : settings.server;
  access.server = without_path(named.empty() ? kServer : named);
  const std::string cache = variable("PANDACACHE_URL");
  access.source_url = settings.vo != "atlas" ? access.server : without_path(cache.empty() ? kCache : cache);
  return access;
}

PandaAccess find_panda_access(const PandaSettings& settings, const std::string& place) {
  PandaAccess access = panda_server(settings);
  if (variable("PANDA_VERIFY_HOST") == "off")
    throw user_error(
        fmt::format("{}: PANDA_VERIFY_HOST is off, and a server that is not checked gets no credentials; "
                    "unset it, and name its authorities by X509_CERT_DIR",
                    place));
  std::error_code error;
  access.ca_folder = variable("X509_CERT_DIR");
  if (access.ca_folder.empty() && std::filesystem::is_directory(kAuthorities, error)) access.ca_folder = kAuthorities;
  if (variable("PANDA_AUTH") == "oidc") {
    access.vo = variable("PANDA_AUTH_VO").empty() ? variable("OIDC_AUTH_VO") : variable("PANDA_AUTH_VO");
    if (access.vo.empty()) throw user_error(fmt::format("{}: PANDA_AUTH is oidc, which needs PANDA_AUTH_VO", place));
    access.token = find_token(place);
    return access;
  }
  access.proxy = variable("X509_USER_PROXY");
  if (access.proxy.empty()) access.proxy = fmt::format("/tmp/x509up_u{}", ::getuid());
  if (!std::filesystem::is_regular_file(access.proxy, error))
    throw user_error(fmt::format("{}: no proxy in {}; `voms-proxy-init -voms {}` makes one, or set PANDA_AUTH=oidc",
                                 place, printable(access.proxy), printable(settings.vo)));
  return access;
}

}  // namespace linac::sites
