#include "linac/control/sites/kubernetes/api.h"

#include <fmt/format.h>

#include <cctype>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"
#include "linac/base/base/version.h"
#include "linac/control/sites/kubernetes/words.h"

namespace linac::sites {
namespace {

using nlohmann::json;

constexpr int kTriesMax = 4;
constexpr auto kPause = std::chrono::milliseconds(300);  // before the second try; each one waits twice as long
constexpr int kListPart = 500;
constexpr int kGone = 410;

net::HttpSettings http_settings(const KubeAccess& access) {
  net::HttpSettings settings;
  settings.user_agent = fmt::format("linac/{}", kVersion);
  settings.ca_pem = access.ca_pem;
  settings.client_cert_pem = access.client_cert_pem;
  settings.client_key_pem = access.client_key_pem;
  settings.connect_timeout = std::chrono::seconds(10);
  return settings;
}

std::string message_of(const json& body) {
  return printable(text_of(body, "message"));
}

}  // namespace

std::string in_url(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0 || c == '-' || c == '.' || c == '_')
      out += c;
    else
      out += fmt::format("%{:02X}", letter);
  }
  return out;
}

KubernetesApi::KubernetesApi(KubeAccess access, std::string place)
    : access_(std::move(access)), place_(std::move(place)), client_(http_settings(access_)) {}

net::HttpRequest KubernetesApi::request(const std::string& method, const std::string& path) const {
  net::HttpRequest request{.url = access_.server + path, .method = method};
  request.headers = {"Accept: application/json"};
  if (!access_.token.empty()) request.headers.push_back("Authorization: Bearer " + access_.token);
  return request;
}

Error KubernetesApi::no_answer(const net::HttpAnswer& answer) const {
  const bool hopeless = answer.problem == net::HttpProblem::kHopeless;
  return environment_error(fmt::format(
      "{}: {} {} ({}); {}", place_, net::without_secrets(access_.server),
      hopeless ? "is not trusted" : "cannot be reached", printable(answer.details),
      hopeless ? "look at certificates and server in " + access_.from : "what was launched there goes on without it"));
}

Error KubernetesApi::not_known() const {
  return environment_error(
      fmt::format("{}: {} does not know who you are: the credentials of {} are wrong or have expired; log in again",
                  place_, net::without_secrets(access_.server), access_.from));
}

KubernetesApi::Answer KubernetesApi::ask(const std::string& method, const std::string& path, const json* body) {
  net::HttpRequest asked = request(method, path);
  const std::string text = body == nullptr ? "" : body->dump();
  asked.body = text;
  asked.headers.push_back(std::string("Content-Type: ") +
                          (method == "PATCH" ? "application/merge-patch+json" : "application/json"));
  net::HttpAnswer answer;
  auto pause = kPause;
  for (int tries = 1;; ++tries) {
    answer = client_.perform(asked);
    // Nothing is done twice by it: what is made has a name, and what is gone cannot go again.
    if (!net::worth_another_try(answer) || tries == kTriesMax) break;
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
  if (answer.problem != net::HttpProblem::kNone) throw no_answer(answer);
  if (answer.status == 401) throw not_known();
  return {answer.status, json::parse(answer.body, nullptr, false), answer.header("warning")};
}

KubernetesApi::Answer KubernetesApi::need(const std::string& what, const std::string& method, const std::string& path,
                                          const json* body, const std::vector<int>& also) {
  Answer answer = ask(method, path, body);
  if (answer.good()) return answer;
  for (const int status : also)
    if (answer.status == status) return answer;
  throw environment_error(fmt::format("{}: {} ({}: {}){}", place_, what, answer.status, message_of(answer.body),
                                      answer.status == 403 ? "; `linac sites init kubernetes` prints the rights that "
                                                             "it needs"
                                                           : ""));
}

std::vector<json> KubernetesApi::list(const std::string& what, const std::string& path, const std::string& query) {
  std::vector<json> all;
  std::string from;
  int begun_anew = 0;
  for (bool more = true; more;) {
    const std::string place =
        fmt::format("{}?limit={}&{}{}", path, kListPart, query, from.empty() ? "" : "&continue=" + in_url(from));
    // Whoever takes long over a list may find that its rest is no longer kept.
    const bool may_be_gone = !from.empty() && begun_anew < kTriesMax;
    const Answer answer = need(what, "GET", place, nullptr, may_be_gone ? std::vector{kGone} : std::vector<int>{});
    from.clear();
    if (answer.status == kGone) {
      ++begun_anew;
      all.clear();
      continue;
    }
    const json items = member(answer.body, "items");
    if (items.is_array()) all.insert(all.end(), items.begin(), items.end());
    from = text_of(answer.body, "metadata", "continue");
    more = !from.empty();
  }
  return all;
}

int KubernetesApi::read(const std::string& path, const std::function<bool(std::string_view bytes)>& take) {
  net::HttpRequest asked = request("GET", path);
  asked.receive = [&](const net::HttpAnswer& answer, std::string_view bytes) {
    return answer.status != 200 || take(bytes);
  };
  const net::HttpAnswer answer = client_.perform(asked);
  if (answer.problem != net::HttpProblem::kNone && answer.problem != net::HttpProblem::kRefused)
    throw no_answer(answer);
  if (answer.status == 401) throw not_known();
  return answer.status;
}

}  // namespace linac::sites
