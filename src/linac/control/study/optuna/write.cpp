#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "linac/control/study/optuna/file.h"

namespace linac::study {
namespace {

using nlohmann::json;

constexpr const char* kWorker = "linac-0";  // Optuna tells its own workers by a random number before the dash

constexpr double kLastSecond = 253402300799;  // of the year 9999

/// "2026-11-27T06:41:33.061928+00:00"
std::string date(double seconds) {
  seconds = std::isnan(seconds) ? 0 : std::clamp(seconds, 0.0, kLastSecond);  // of whoever wrote the journal
  const double whole = std::floor(seconds);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:06}+00:00", fmt::gmtime(static_cast<std::time_t>(whole)),
                     static_cast<int>((seconds - whole) * 1e6));
}

/// As Python writes it, which has numbers that JSON lacks.
std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return json(value).dump();
}

std::string distribution_of(const tune::Parameter& parameter) {
  json settings;
  if (parameter.categorical()) {
    for (const std::string& choice : parameter.choices) {
      const json value = json::parse(choice, nullptr, false);
      settings["choices"].push_back(value.is_number() || value.is_boolean() || value.is_null() ? value : json(choice));
    }
    return json{{"name", "CategoricalDistribution"}, {"attributes", settings}}.dump();
  }
  settings["log"] = parameter.log;
  if (parameter.kind == tune::Kind::kInteger) {
    settings["low"] = static_cast<int64_t>(parameter.low);
    settings["high"] = static_cast<int64_t>(parameter.high);
    settings["step"] = static_cast<int64_t>(std::max(1.0, parameter.step));
    return json{{"name", "IntDistribution"}, {"attributes", settings}}.dump();
  }
  settings["low"] = parameter.low;
  settings["high"] = parameter.high;
  settings["step"] = parameter.step > 0 ? json(parameter.step) : json();
  return json{{"name", "FloatDistribution"}, {"attributes", settings}}.dump();
}

int state_of(tune::State state) {
  switch (state) {
    case tune::State::kRunning:
      return 0;
    case tune::State::kComplete:
      return 1;
    case tune::State::kPruned:
      return 2;
    case tune::State::kFailed:
    case tune::State::kInfeasible:
      return 3;
  }
  return 3;
}

class Lines {
 public:
  void add(int operation, const std::string& rest) {
    text_ += fmt::format("{{\"op_code\":{},\"worker_id\":\"{}\",{}}}\n", operation, kWorker, rest);
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

void add_trial(Lines& lines, const Ledger& ledger, const tune::Trial& trial, size_t id) {
  const tune::Space& space = ledger.history().space();
  const Ledger::Times times = ledger.times_of(trial.number);
  // An operation on this trial.
  const auto add = [&](int operation, const std::string& rest) {
    lines.add(operation, fmt::format("\"trial_id\":{},{}", id, rest));
  };
  lines.add(4, fmt::format("\"study_id\":0,\"datetime_start\":\"{}\"", date(times.asked)));
  for (size_t i = 0; i < space.size(); ++i)
    if (!std::isnan(trial.point[i]))
      add(5, fmt::format("\"param_name\":{},\"param_value_internal\":{},\"distribution\":{}",
                         json(space[i].name).dump(), number(trial.point[i]), json(distribution_of(space[i])).dump()));
  for (const auto& [step, loss] : trial.curve)
    add(7, fmt::format("\"step\":{},\"intermediate_value\":{}", step,
                       number(tune::loss_of(ledger.history().directions()[0], loss))));
  if (!trial.reason.empty()) add(8, "\"user_attr\":" + json{{"reason", trial.reason}}.dump());
  if (trial.state == tune::State::kRunning) return;
  std::string values = "null";
  if (trial.state == tune::State::kComplete) {
    std::vector<std::string> numbers;
    for (const double value : trial.values) numbers.push_back(number(value));
    values = fmt::format("[{}]", fmt::join(numbers, ","));
  }
  add(6, fmt::format("\"state\":{},\"values\":{},\"datetime_complete\":\"{}\"", state_of(trial.state), values,
                     date(std::max(times.told, times.asked))));
}

}  // namespace

std::string optuna_file_of(const Ledger& ledger, const std::string& name) {
  const tune::History& history = ledger.history();
  Lines lines;
  std::vector<int> directions;
  for (const tune::Direction direction : history.directions())
    directions.push_back(direction == tune::Direction::kMaximize ? 2 : 1);
  lines.add(0, fmt::format("\"study_name\":{},\"directions\":{}", json(name).dump(), json(directions).dump()));
  lines.add(3,
            "\"study_id\":0,\"system_attr\":" + json{{"study:metric_names", ledger.study().objective_names()}}.dump());
  size_t id = 0;
  for (const tune::Trial& trial : history.trials()) add_trial(lines, ledger, trial, id++);
  return lines.take();
}

}  // namespace linac::study
