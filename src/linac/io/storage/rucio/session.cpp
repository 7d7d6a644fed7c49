#include "linac/io/storage/rucio/session.h"

#include <fmt/format.h>

#include <cctype>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <sstream>

#include "linac/base/base/error.h"
#include "linac/io/storage/break_off.h"
#include "linac/io/storage/http_request.h"
#include "linac/io/storage/store.h"

namespace linac::storage::rucio {
namespace {

using nlohmann::json;

std::mutex tokens_mutex;
std::map<std::string, std::string> tokens;  // of this process, by server and account

std::string token_name(const Access& access) {
  return access.auth_host + " " + access.account + " " + access.vo;
}

/// "DataIdentifierNotFound: Data identifier 'a:b' not found", as Rucio says it, without what would break a line.
std::string said(const net::HttpAnswer& answer) {
  std::string text = answer.header("exceptionclass");
  if (const std::string message = answer.header("exceptionmessage"); !message.empty()) text += ": " + message;
  for (char& c : text)
    if (std::iscntrl(static_cast<unsigned char>(c)) != 0) c = ' ';
  return text.empty() ? "" : fmt::format(" ({})", text);
}

std::vector<json> lines_of(const net::HttpAnswer& answer, const std::string& host, const std::string& what) {
  std::vector<json> rows;
  std::istringstream lines(answer.body);
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    json row = json::parse(line, nullptr, false);
    if (row.is_discarded())
      throw environment_error(
          fmt::format("[rucio] {}: {} answers what is no JSON; is rucio_host a Rucio server?", what, host));
    rows.push_back(std::move(row));
  }
  return rows;
}

bool is_refusal(const net::HttpAnswer& answer) {
  return answer.problem == net::HttpProblem::kNone && !answer.header("exceptionclass").empty() && answer.status != 503;
}

net::HttpSettings settings_of(const Access& access) {
  net::HttpSettings settings{.user_agent = "linac", .ca_file = access.ca_file, .go_on = need_to_go_on};
  settings.redirects_max = 0;  // the token is for one server
  return settings;
}

}  // namespace

Session::Session(Access access) : access_(std::move(access)), client_(settings_of(access_)) {}

net::HttpAnswer Session::tried(const net::HttpRequest& request) {
  for (int attempt = 1;; ++attempt) {
    net::HttpAnswer answer = client_.perform(request);
    // Rucio refuses some things with 500, and says what and why.
    if (attempt == kHttpAttempts || !net::worth_another_try(answer) || is_refusal(answer)) return answer;
    wait_for_attempt(request.url, answer, attempt);
  }
}

std::string Session::fetched_token() {
  if (access_.auth_type == "oidc") {
    if (const std::string token = bearer_token(); !token.empty() && token != token_) return token;
  }
  if (access_.auth_type != "userpass") {
    throw user_error(fmt::format(
        "[rucio] {}: no valid token of account '{}' in {}; linac takes the one that Rucio's client fetches: "
        "run `rucio whoami` first (auth_type {}), or use userpass",
        access_.auth_host, access_.account, access_.token_file.string(),
        access_.auth_type.empty() ? "is not set" : access_.auth_type));
  }
  net::HttpRequest request{.url = access_.auth_host + "/auth/userpass"};
  request.headers = {"X-Rucio-Account: " + access_.account, "X-Rucio-Username: " + access_.username,
                     "X-Rucio-Password: " + access_.password};
  if (!access_.vo.empty()) request.headers.push_back("X-Rucio-VO: " + access_.vo);
  const net::HttpAnswer answer = tried(request);
  if (answer.problem != net::HttpProblem::kNone || answer.status >= 500) fail_request(request.url, answer);
  const std::string token = answer.header("x-rucio-auth-token");
  if (answer.status != 200 || token.empty())
    throw user_error(
        fmt::format("[rucio] {}: refuses user '{}' as account '{}': {}{}; check username, password and "
                    "account in rucio.cfg",
                    access_.auth_host, access_.username, access_.account, answer.status, said(answer)));
  return token;
}

const std::string& Session::token() {
  if (!token_.empty()) return token_;
  const std::scoped_lock lock(tokens_mutex);  // one of them asks for it
  std::string& known = tokens[token_name(access_)];
  if (known.empty() && !stored_token_refused_) known = token_in(access_.token_file);
  if (known.empty()) known = fetched_token();
  return token_ = known;
}

net::HttpAnswer Session::answered(const std::string& method, const std::string& path, const std::string& body) {
  for (int logins = 0;; ++logins) {
    net::HttpRequest request{.url = access_.host + path, .method = method};
    request.headers = {"X-Rucio-Auth-Token: " + token(), "Content-Type: application/json"};
    request.body = body;
    net::HttpAnswer answer = tried(request);
    const bool failed = answer.problem != net::HttpProblem::kNone || answer.status >= 500;
    if (failed && !is_refusal(answer)) fail_request(request.url, answer);
    if (answer.status != 401 || logins == 2) return answer;
    // It has expired, or is none: the stored one is tried once, and a new one once.
    const std::scoped_lock lock(tokens_mutex);
    if (std::string& known = tokens[token_name(access_)]; known == token_) {
      stored_token_refused_ |= known == token_in(access_.token_file);
      known.clear();
    }
    token_.clear();
  }
}

void Session::refuse(const net::HttpAnswer& answer, const std::string& what) const {
  const char* const way_out = answer.status == 404   ? "check scope and name (rucio did list)"
                              : answer.status == 409 ? "take another name"
                              : answer.status == 401
                                  ? "log in again (rucio whoami), and check account and rucio.cfg"
                                  : "ask who keeps this Rucio, or use another account (RUCIO_ACCOUNT)";
  throw data_error(
      fmt::format("[rucio] {}: {} answers {}{}; {}", what, access_.host, answer.status, said(answer), way_out));
}

std::vector<json> Session::get(const std::string& path, const std::string& what) {
  const net::HttpAnswer answer = answered("GET", path, "");
  if (answer.status != 200) refuse(answer, what);
  return lines_of(answer, access_.host, what);
}

std::vector<json> Session::post(const std::string& path, const json& body, const std::string& what) {
  const std::string text = body.dump();
  const net::HttpAnswer answer = answered("POST", path, text);
  if (answer.status != 200) refuse(answer, what);
  return lines_of(answer, access_.host, what);
}

bool Session::is_there(const std::string& path, const std::string& what) {
  const net::HttpAnswer answer = answered("GET", path, "");
  if (answer.status != 200 && answer.status != 404) refuse(answer, what);
  return answer.status == 200;
}

void Session::make(const std::string& path, const json& body, const std::string& what) {
  const std::string text = body.dump();
  const net::HttpAnswer answer = answered("POST", path, text);
  if (answer.status / 100 != 2) refuse(answer, what);
}

}  // namespace linac::storage::rucio
