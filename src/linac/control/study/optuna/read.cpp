#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/python_json.h"
#include "linac/control/study/optuna/file.h"
#include "linac/control/tune/point_json.h"

namespace linac::study {
namespace {

using nlohmann::json;

constexpr size_t kObjectivesMax = 1000;

/// "2026-11-27T06:41:33.061928+00:00" as seconds since 1970; 0 for what is none.
double seconds_of(const json& text) {
  if (!text.is_string()) return 0;
  std::tm day{};
  double second = 0;
  char sign = '+';
  int hours = 0, minutes = 0;
  const int found =
      std::sscanf(text.get_ref<const std::string&>().c_str(), "%4d-%2d-%2dT%2d:%2d:%9lf%c%2d:%2d", &day.tm_year,
                  &day.tm_mon, &day.tm_mday, &day.tm_hour, &day.tm_min, &second, &sign, &hours, &minutes);
  if (found < 6 || !(second >= 0 && second < 61)) return 0;
  day.tm_year -= 1900;
  day.tm_mon -= 1;
  const double offset = found == 9 ? 60.0 * (60 * hours + minutes) * (sign == '-' ? -1 : 1) : 0;
  return std::max(0.0, static_cast<double>(::timegm(&day)) + second - offset);
}

std::vector<double> values_of(const json& values) {
  std::vector<double> numbers;
  if (!values.is_null())
    for (const json& value : values) numbers.push_back(tune::number_from_json(value));
  return numbers;
}

OptunaDistribution distribution_of(const std::string& text) {
  const json whole = json::parse(plain_json(text));
  const auto name = whole.at("name").get<std::string>();
  const json& settings = whole.at("attributes");
  OptunaDistribution found;
  if (name == "CategoricalDistribution") {
    found.kind = OptunaDistribution::Kind::kCategorical;
    for (const json& choice : settings.at("choices"))
      found.choices.push_back(choice.is_string() ? choice.get<std::string>() : choice.dump());
    return found;
  }
  const bool integer = name.starts_with("Int");
  // The names of Optuna before version 3 say what the settings say now.
  const bool old_log = name == "LogUniformDistribution" || name == "IntLogUniformDistribution";
  if (!integer && !old_log && name != "FloatDistribution" && name != "UniformDistribution" &&
      name != "DiscreteUniformDistribution")
    throw data_error(fmt::format("there is no distribution '{}'", name));
  found.kind = integer ? OptunaDistribution::Kind::kInteger : OptunaDistribution::Kind::kFloat;
  found.low = tune::number_from_json(settings.at("low"));
  found.high = tune::number_from_json(settings.at("high"));
  found.log = old_log || settings.value("log", false);
  const json step = settings.contains("q") ? settings["q"] : settings.value("step", json());
  if (!step.is_null()) found.step = tune::number_from_json(step);
  return found;
}

OptunaTrial::State state_of(const json& state) {
  const auto number = state.get<int>();
  if (number < 0 || number > 4) throw data_error(fmt::format("there is no state {} of a trial", number));
  return static_cast<OptunaTrial::State>(number);
}

class Replay {
 public:
  void take(const json& line, size_t number) {
    switch (line.at("op_code").get<int>()) {
      case 0:
        return create_study(line);
      case 1:
        if (auto* const study = study_of(line)) study->reset();
        return;
      case 3:
        if (auto* const study = study_of(line);
            study != nullptr && line.at("system_attr").contains("study:metric_names"))
          (*study)->metric_names = line["system_attr"]["study:metric_names"].get<std::vector<std::string>>();
        return;
      case 4:
        return create_trial(line, number);
      case 5:
        if (OptunaTrial* const trial = trial_of(line))
          set(*trial, line.at("param_name"), tune::number_from_json(line.at("param_value_internal")),
              line.at("distribution"));
        return;
      case 6:
        if (OptunaTrial* const trial = trial_of(line)) end(*trial, line, number);
        return;
      case 7:
        if (OptunaTrial* const trial = trial_of(line))
          set_step(*trial, line.at("step"), tune::number_from_json(line.at("intermediate_value")));
        return;
      case 2:  // attributes, and what linac has no use for
      case 8:
      case 9:
      case 10:
        return;
      default:
        throw data_error(fmt::format("there is no operation {}", line["op_code"].dump()));
    }
  }

  std::vector<OptunaStudy> studies() {
    std::vector<OptunaStudy> all;
    for (auto& study : studies_)
      if (study) all.push_back(std::move(*study));
    return all;
  }

 private:
  void create_study(const json& line) {
    const auto name = line.at("study_name").get<std::string>();
    for (const auto& study : studies_)
      if (study && study->name == name) return;  // two made it at once: the first one did
    OptunaStudy study{name, {}, {}, {}};
    for (const json& direction : line.at("directions"))
      study.directions.push_back(direction == 2 ? tune::Direction::kMaximize : tune::Direction::kMinimize);
    if (study.directions.empty() || study.directions.size() > kObjectivesMax) throw data_error("no directions");
    studies_.push_back(std::move(study));
  }

  std::optional<OptunaStudy>* study_of(const json& line) {
    const auto id = line.at("study_id").get<int64_t>();
    if (id < 0 || id >= static_cast<int64_t>(studies_.size())) return nullptr;
    auto& study = studies_[static_cast<size_t>(id)];
    return study ? &study : nullptr;
  }

  /// One that has not ended.
  OptunaTrial* trial_of(const json& line) {
    const auto id = line.at("trial_id").get<int64_t>();
    if (id < 0 || id >= static_cast<int64_t>(trials_.size())) return nullptr;
    const auto [study, place] = trials_[static_cast<size_t>(id)];
    if (!studies_[study]) return nullptr;
    OptunaTrial& trial = studies_[study]->trials[place];
    const bool ended = trial.state != OptunaTrial::State::kRunning && trial.state != OptunaTrial::State::kWaiting;
    return ended ? nullptr : &trial;
  }

  void create_trial(const json& line, size_t number) {
    auto* const study = study_of(line);
    if (study == nullptr) return;
    OptunaTrial trial;
    trial.asked_s = seconds_of(line.value("datetime_start", json()));
    trial.told_s = seconds_of(line.value("datetime_complete", json()));
    trial.ended_at = number;
    if (line.contains("state")) trial.state = state_of(line["state"]);
    if (line.contains("params"))
      for (const auto& [name, value] : line["params"].items())
        set(trial, name, tune::number_from_json(value), line.at("distributions").at(name));
    if (line.contains("intermediate_values"))
      for (const auto& [step, value] : line["intermediate_values"].items())
        set_step(trial, json::parse(step).get<int64_t>(), tune::number_from_json(value));
    trial.values = values_of(line.value("values", json()));
    if (trial.values.empty() && !line.value("value", json()).is_null())
      trial.values = {tune::number_from_json(line["value"])};
    check(trial, **study);
    trials_.emplace_back(study - studies_.data(), (*study)->trials.size());
    (*study)->trials.push_back(std::move(trial));
  }

  static void set(OptunaTrial& trial, const std::string& name, double value, const std::string& distribution) {
    OptunaParameter parameter{name, value, distribution_of(distribution)};
    const auto found = std::find_if(trial.parameters.begin(), trial.parameters.end(),
                                    [&](const OptunaParameter& one) { return one.name == name; });
    if (found != trial.parameters.end())
      *found = std::move(parameter);
    else
      trial.parameters.push_back(std::move(parameter));
  }

  static void set_step(OptunaTrial& trial, int64_t step, double value) {
    const auto found = std::lower_bound(trial.curve.begin(), trial.curve.end(), step,
                                        [](const auto& point, int64_t at) { return point.first < at; });
    if (found != trial.curve.end() && found->first == step)
      found->second = value;
    else
      trial.curve.insert(found, {step, value});
  }

  void end(OptunaTrial& trial, const json& line, size_t number) {
    trial.state = state_of(line.at("state"));
    trial.ended_at = number;
    if (const auto values = values_of(line.value("values", json())); !values.empty()) trial.values = values;
    if (const double told = seconds_of(line.value("datetime_complete", json())); told > 0) trial.told_s = told;
    if (const double asked = seconds_of(line.value("datetime_start", json())); asked > 0) trial.asked_s = asked;
    check(trial, *studies_[trials_[line["trial_id"].get<size_t>()].first]);
  }

  static void check(const OptunaTrial& trial, const OptunaStudy& study) {
    if (trial.state == OptunaTrial::State::kComplete && trial.values.size() != study.directions.size())
      throw data_error(fmt::format("a trial with {} values in a study of {} objectives", trial.values.size(),
                                   study.directions.size()));
  }

  std::vector<std::optional<OptunaStudy>> studies_;  // by id; deleted ones are empty
  std::vector<std::pair<size_t, size_t>> trials_;    // study and number, by id
};

}  // namespace

std::vector<OptunaStudy> parse_optuna_file(const std::string& text, const std::string& where) {
  Replay replay;
  size_t number = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t found = text.find('\n', begin), end = std::min(found, text.size());
    ++number;
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    try {
      const json record = json::parse(plain_json(line), nullptr, /*allow_exceptions=*/found != std::string::npos);
      if (!record.is_discarded()) replay.take(record, number);
    } catch (const std::exception& error) {
      throw data_error(
          fmt::format("[study] {}:{}: {}; wanted is a journal file of Optuna", where, number, error.what()));
    }
  }
  std::vector<OptunaStudy> studies = replay.studies();
  if (studies.empty()) throw data_error(fmt::format("[study] {}: has no study of Optuna", where));
  return studies;
}

}  // namespace linac::study
