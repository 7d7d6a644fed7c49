#include "linac/io/storage/http_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/io/storage/break_off.h"
#include "linac/io/storage/percent.h"
#include "linac/io/storage/storage.h"
#include "linac/io/storage/store.h"
#include "linac/io/storage/user_settings.h"

namespace linac::storage {
namespace {

constexpr std::chrono::milliseconds kFirstBackoff{250};  // doubled after each failed attempt
constexpr int kRedirectsMax = 8;

}  // namespace

std::string request_url(const std::string& url) {
  const std::string scheme = scheme_of(url).value_or("");
  if (scheme != "dav" && scheme != "davs") return url;
  const size_t host = url.find("://") + 3;
  const size_t path = std::min(url.find('/', host), url.size());
  return (scheme == "dav" ? "http://" : "https://") + url.substr(host, path - host) +
         percent_encoded(std::string_view(url).substr(path), Slash::kStays);
}

std::vector<std::string> token_headers(const std::string& url) {
  const std::string scheme = scheme_of(url).value_or("");
  if (scheme != "davs" && !(scheme == "dav" && net::is_loopback(request_url(url)))) return {};
  const std::string token = bearer_token();
  if (token.empty()) return {};
  return {"Authorization: Bearer " + token};
}

net::HttpSettings http_settings(const std::string& url) {
  net::HttpSettings settings{.redirects_max = kRedirectsMax, .go_on = need_to_go_on};
  if (scheme_of(url) != "davs") return settings;
  const std::string proxy = from_environment("X509_USER_PROXY");
  settings.client_cert = first_of({proxy, from_environment("X509_USER_CERT")});
  settings.client_key = first_of({proxy, from_environment("X509_USER_KEY")});
  settings.ca_folder = from_environment("X509_CERT_DIR");
  return settings;
}

void wait_for_attempt(const std::string& url, const net::HttpAnswer& answer, int failed_attempts) {
  const std::chrono::milliseconds asked = net::wait_asked_for(answer);
  const auto backoff = std::max(kFirstBackoff * (1 << (failed_attempts - 1)), asked);
  const bool answered = answer.problem == net::HttpProblem::kNone;
  log::warn(fmt::format("[http] {}: {}; attempt {} of {} in {} ms", net::without_secrets(url),
                        answered ? fmt::format("the server answers {}", answer.status) : answer.what,
                        failed_attempts + 1, kHttpAttempts, backoff.count()));
  wait_for_store(backoff);
}

void fail_to_write(const std::string& url) {
  throw environment_error(
      fmt::format("[http] {}: cannot be written into the cache; check the space under {} or set LINAC_CACHE",
                  net::without_secrets(url), cache_folder().string()));
}

void fail_request(const std::string& url, const net::HttpAnswer& answer) {
  if (answer.problem == net::HttpProblem::kRefused) fail_to_write(url);
  if (answer.problem != net::HttpProblem::kNone) {
    const std::string message =
        fmt::format("[http] {}: {} (after {} attempts where that can help); check the address and the network",
                    net::without_secrets(url), answer.what, kHttpAttempts);
    if (answer.problem == net::HttpProblem::kUnreachable) throw Unreachable(ErrorCode::kEnvironment, message);
    throw environment_error(message);
  }
  const std::string message = fmt::format("[http] {}: the server answers {}", net::without_secrets(url), answer.status);
  if (answer.status == 401 || answer.status == 403)
    throw data_error(message + " (access denied); " +
                     (scheme_of(url).value_or("").starts_with("dav")
                          ? "check the token or the proxy (BEARER_TOKEN, BEARER_TOKEN_FILE, X509_USER_PROXY)"
                          : "use a URL that needs no login, or davs:// with a token"));
  if (answer.status >= 400 && answer.status < 500)
    throw data_error(message + " (no such file there); check the address");
  throw environment_error(fmt::format("{} after {} attempts; try again later", message, kHttpAttempts));
}

}  // namespace linac::storage
