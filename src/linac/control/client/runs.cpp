#include "linac/control/client/runs.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/log.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/percent.h"
#include "linac/base/job/run_states.h"

namespace linac::client {
namespace {

using nlohmann::json;

constexpr int kAwayMax = 60;  // tries, a second apart
constexpr int64_t kWait_s = 20, kPieceBytes = 1 << 20;

constexpr size_t kIdLetters = 32, kIdLettersMin = 4;
constexpr const char* kNamesMax = "200";  // among which a misspelt one is looked for
constexpr size_t kToldMax = 4;

// As filters have texts.
std::string quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? std::string("''") : std::string(1, c);
  return quoted + "'";
}

// The newest first.
json runs_where(ServiceClient& service, const std::string& filter) {
  return service.get("/api/v1/runs", {{"filter", filter}, {"limit", std::to_string(kToldMax + 1)}}).at("runs");
}

// The members of arrays and studies called "`name` seed=3". In LIKE some letters stand for others.
json runs_with_settings(ServiceClient& service, const std::string& name) {
  json runs = json::array();
  for (const json& run : runs_where(service, "attributes.run_name LIKE " + quoted(name + " %")))
    if (run.at("name").get<std::string>().starts_with(name + " ")) runs.push_back(run);
  return runs;
}

std::string words_of(const json& runs) {
  std::vector<std::string> words;
  for (const json& run : runs)
    words.push_back(
        fmt::format("{} of {}", run.at("id").get<std::string>().substr(0, 8), time_words(run.at("created_ms"))));
  if (words.size() > kToldMax) words.back() = "...";
  return fmt::format("{}", fmt::join(words, ", "));
}

// The same request until the service is there again.
Answer patient_get(ServiceClient& service, const std::string& path, const Query& query) {
  for (int tries = 1;; ++tries) {
    try {
      return service.get_text(path, query);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kEnvironment || tries >= kAwayMax) throw;
      if (tries == 1) log::warn(fmt::format("{}; waiting for it", error.what()));
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

std::vector<std::string> values_of(const std::string& setting) {
  const size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == setting.size())
    throw user_error(fmt::format("[submit] --array {}: expected KEY=A,B,... or KEY=1..8", setting));
  const std::string key = setting.substr(0, equals), text = setting.substr(equals + 1);
  std::vector<std::string> values;
  const size_t dots = text.find("..");
  int64_t first = 0, last = 0;
  const auto number = [&](std::string_view digits, int64_t& value) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return error == std::errc{} && end == digits.data() + digits.size();
  };
  if (dots != std::string::npos && number(std::string_view(text).substr(0, dots), first) &&
      number(std::string_view(text).substr(dots + 2), last)) {
    if (last < first || last - first >= 100000)
      throw user_error(fmt::format("[submit] --array {}: no range; write the smaller number first", setting));
    for (int64_t value = first; value <= last; ++value) values.push_back(fmt::format("{}={}", key, value));
    return values;
  }
  for (size_t from = 0; from <= text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    if (comma == from) throw user_error(fmt::format("[submit] --array {}: an empty value", setting));
    values.push_back(key + "=" + text.substr(from, comma - from));
    from = comma + 1;
  }
  return values;
}

}  // namespace

std::string find_run(ServiceClient& service, const std::string& text, Several several) {
  if (text.size() == kIdLetters && is_hex(text)) return text;
  json named = runs_where(service, "attributes.run_name = " + quoted(text));
  if (named.empty()) named = runs_with_settings(service, text);
  if (named.size() > 1 && several == Several::kRefused)
    throw user_error(fmt::format("[runs] several runs are called '{}': {}; give the id, or its first letters", text,
                                 words_of(named)));
  if (named.size() > 1)
    log::info(
        fmt::format("several runs are called '{}'; the newest is meant, {}", text, words_of(json::array({named[0]}))));
  if (!named.empty()) return named.at(0).at("id");
  if (text.size() >= kIdLettersMin && text.size() < kIdLetters && is_hex(text)) {
    const json begun = runs_where(service, "attributes.run_id LIKE " + quoted(text + "%"));
    if (begun.size() > 1)
      throw user_error(fmt::format("[runs] several ids begin with {}: {}; give more of it", text, words_of(begun)));
    if (!begun.empty()) return begun.at(0).at("id");
  }
  std::vector<std::string> names;
  const json newest = service.get("/api/v1/runs", {{"limit", kNamesMax}});
  for (const json& run : newest.at("runs")) names.push_back(run.at("name"));
  const auto near = nearest(text, names);
  throw user_error(fmt::format("[runs] no run '{}'; {}`linac list` shows them", text,
                               near ? fmt::format("did you mean '{}'? ", *near) : ""));
}

std::string print_log(ServiceClient& service, const std::string& run, int64_t from, bool follow) {
  const std::string path = "/api/v1/runs/" + run + "/log";
  for (;;) {
    Query query{{"from", std::to_string(from)}, {"bytes", std::to_string(kPieceBytes)}};
    if (follow) query.emplace_back("wait_s", std::to_string(kWait_s));
    const Answer answer = follow ? patient_get(service, path, query) : service.get_text(path, query);
    std::fwrite(answer.body.data(), 1, answer.body.size(), stdout);
    std::fflush(stdout);
    from = std::atoll(answer.headers.at("linac-log-end").c_str());
    const std::string& state = answer.headers.at("linac-run-state");
    if (answer.body.empty() && (!follow || ended(state))) return state;
  }
}

std::string experiment_number(ServiceClient& service, const std::string& text) {
  if (text.find_first_not_of("0123456789") == std::string::npos) return text;
  const json answer = service.get("/api/2.0/mlflow/experiments/get-by-name", {{"experiment_name", text}});
  return answer.at("experiment").at("experiment_id");
}

std::string file_address(const std::string& run, const std::string& path) {
  return "/api/v1/runs/" + run + "/files/" + percent_encoded(path, true);
}

bool ended(const std::string& state) {
  const auto known = job::run_state_named(state);
  return known && job::ended(*known);
}

int exit_status(const std::string& state) {
  const auto known = job::run_state_named(state);
  return known ? job::exit_status(*known) : static_cast<int>(ErrorCode::kInternal);
}

std::vector<std::vector<std::string>> array_members(const std::vector<std::string>& settings, size_t count_max) {
  if (settings.empty()) return {};
  std::vector<std::vector<std::string>> members{{}};
  for (const std::string& setting : settings) {
    const std::vector<std::string> values = values_of(setting);
    if (members.size() * values.size() > count_max)
      throw user_error(fmt::format("[submit] --array: more than {} jobs; submit them in parts", count_max));
    std::vector<std::vector<std::string>> longer;
    for (const auto& member : members) {
      for (const std::string& value : values) {
        longer.push_back(member);
        longer.back().push_back(value);
      }
    }
    members = std::move(longer);
  }
  return members;
}

std::string time_words(int64_t ms) {
  if (ms <= 0) return "-";
  return fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(static_cast<std::time_t>(ms / 1000)));
}

}  // namespace linac::client
