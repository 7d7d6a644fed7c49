#include "linac/control/sites/panda/api.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/percent.h"
#include "linac/base/base/utf8.h"
#include "linac/base/base/version.h"

namespace linac::sites {
namespace {

using nlohmann::json;
constexpr int kTriesMax = 4;
constexpr auto kPause = std::chrono::milliseconds(300);  // before the second try; each one waits twice as long
constexpr size_t kAnswerBytesMax = size_t{64} << 20;
constexpr int kTasksMax = 100;

net::HttpSettings http_settings(const PandaAccess& access) {
  net::HttpSettings settings;
  settings.user_agent = fmt::format("linac/{}", kVersion);
  settings.ca_folder = access.ca_folder;
  settings.client_cert = access.proxy;
  settings.client_key = access.proxy;
  settings.connect_timeout = std::chrono::seconds(10);
  settings.stall_timeout = std::chrono::seconds(60);
  return settings;
}

}  // namespace

PandaApi::PandaApi(PandaAccess access, std::string place)
    : access_(std::move(access)), place_(std::move(place)), client_(http_settings(access_)) {}

net::HttpRequest PandaApi::request(const std::string& method, const std::string& path) const {
  net::HttpRequest request{.url = access_.server + "/api/v1/" + path, .method = method};
  request.headers = {"Accept: application/json", "Content-Type: application/json"};
  if (!access_.token.empty()) {
    request.headers.push_back("Authorization: Bearer " + access_.token);
    request.headers.push_back("Origin: " + access_.vo);
  }
  request.answer_bytes_max = kAnswerBytesMax;
  return request;
}

Error PandaApi::hopeless(const net::HttpAnswer& answer) const {
  if (answer.problem != net::HttpProblem::kNone)
    return environment_error(
        fmt::format("{}: {} is not trusted, or does not trust the proxy ({}); look at its "
                    "certificate, X509_CERT_DIR and `voms-proxy-info`",
                    place_, net::without_secrets(access_.server), printable(answer.details)));
  return environment_error(fmt::format(
      "{}: {} does not let you in ({}: {}); look at {}", place_, net::without_secrets(access_.server), answer.status,
      printable(answer.body), access_.token.empty() ? "`voms-proxy-info -all`" : "the token and PANDA_AUTH_VO"));
}

// Nothing where another try may find an answer, or one that was lost.
std::optional<PandaApi::Answer> PandaApi::answer_of(const net::HttpAnswer& answer) {
  if (answer.problem == net::HttpProblem::kHopeless || answer.status == 401 || answer.status == 403)
    throw hopeless(answer);
  const std::string server = net::without_secrets(access_.server);
  if (answer.problem != net::HttpProblem::kNone) {
    trouble_ = fmt::format("{} cannot be reached ({})", server, printable(answer.details));
    return std::nullopt;
  }
  const json body = json::parse(answer.body, nullptr, false);
  if (answer.status != 200 || !body.is_object() || !body.contains("success") || !body["success"].is_boolean()) {
    trouble_ = fmt::format("{} gives no answer of PanDA ({}: {})", server, answer.status, printable(answer.body));
    return std::nullopt;
  }
  Answer out;
  out.success = body["success"].get<bool>();
  if (const auto message = body.find("message"); message != body.end() && message->is_string())
    out.message = message->get<std::string>();
  if (const auto data = body.find("data"); data != body.end()) out.data = *data;
  if (out.data.is_number_integer()) out.code = out.data.get<int64_t>();
  return out;
}

PandaApi::Answer PandaApi::get(const std::string& path, const std::vector<std::pair<std::string, std::string>>& query) {
  net::HttpRequest asked = request("GET", path);
  char sign = '?';
  for (const auto& [name, value] : query) {
    asked.url += fmt::format("{}{}={}", sign, name, percent_encoded(value));
    sign = '&';
  }
  auto pause = kPause;
  for (int tries = 1;; ++tries) {
    if (auto answer = answer_of(client_.perform(asked))) return *answer;
    if (tries == kTriesMax)
      throw environment_error(fmt::format("{}: {}; what was launched there goes on without it", place_, trouble_));
    std::this_thread::sleep_for(pause);
    pause *= 2;
  }
}

std::optional<PandaApi::Answer> PandaApi::post(const std::string& path, const json& body) {
  net::HttpRequest asked = request("POST", path);
  const std::string text = body.dump();
  asked.body = text;
  return answer_of(client_.perform(asked));
}

std::vector<json> PandaApi::tasks(const std::string& attribute, const std::string& value) {
  const Answer answer = get("task/get_tasks_detailed_info_since",
                            {{"n_tasks", std::to_string(kTasksMax)}, {"filters", json{{attribute, value}}.dump()}});
  if (!answer.success)
    throw environment_error(
        fmt::format("{}: the server tells nothing of tasks ({})", place_, printable(answer.message)));
  std::vector<json> all;
  if (answer.data.is_array())
    for (const json& task : answer.data)
      if (task.is_object()) all.push_back(task);
  return all;
}

}  // namespace linac::sites
