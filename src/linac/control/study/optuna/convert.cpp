#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/control/study/optuna/file.h"

namespace linac::study {
namespace {

using Kind = OptunaDistribution::Kind;
using State = OptunaTrial::State;

const OptunaParameter* find(const OptunaTrial& trial, const std::string& name) {
  const auto found = std::find_if(trial.parameters.begin(), trial.parameters.end(),
                                  [&](const OptunaParameter& one) { return one.name == name; });
  return found == trial.parameters.end() ? nullptr : &*found;
}

/// In the order in which they first appear, each with the ranges of all its trials taken together.
std::vector<std::pair<std::string, OptunaDistribution>> distributions_of(const OptunaStudy& study) {
  std::vector<std::pair<std::string, OptunaDistribution>> all;
  for (const OptunaTrial& trial : study.trials)
    for (const OptunaParameter& parameter : trial.parameters) {
      const OptunaDistribution& own = parameter.distribution;
      const auto found =
          std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.first == parameter.name; });
      if (found == all.end()) {
        all.emplace_back(parameter.name, own);
        continue;
      }
      OptunaDistribution& known = found->second;
      if (known.kind != own.kind || known.log != own.log || known.step != own.step || known.choices != own.choices)
        throw data_error(
            fmt::format("[study] {}: its kind, step or choices changed from trial to trial; a study has one of them",
                        parameter.name));
      known.low = std::min(known.low, own.low);
      known.high = std::max(known.high, own.high);
    }
  return all;
}

tune::ParameterSettings settings_of(const std::string& name, const OptunaDistribution& distribution) {
  tune::ParameterSettings settings{.name = name};
  settings.low = distribution.low, settings.high = distribution.high, settings.step = distribution.step;
  switch (distribution.kind) {
    case Kind::kFloat:
      settings.kind = distribution.log ? "log" : "uniform";
      break;
    case Kind::kInteger:
      settings.kind = "integer";
      settings.log = distribution.log;
      if (distribution.log) settings.step = 0;
      break;
    case Kind::kCategorical:
      settings.kind = "categorical";
      settings.low = 0, settings.high = 1;
      settings.choices = distribution.choices;
      break;
  }
  return settings;
}

bool is_constant(const OptunaDistribution& distribution) {
  return distribution.kind == Kind::kCategorical ? distribution.choices.size() < 2
                                                 : !(distribution.low < distribution.high);
}

std::string text_of(const OptunaParameter& parameter) {
  if (parameter.distribution.kind != Kind::kCategorical) return fmt::format("{}", parameter.value);
  const auto& choices = parameter.distribution.choices;
  if (!(parameter.value >= 0 && parameter.value < static_cast<double>(choices.size())))
    throw data_error(fmt::format("[study] {}: has no choice {}", parameter.name, parameter.value));
  return choices[static_cast<size_t>(parameter.value)];
}

/// The values of `parent` in complete trials that have `name`, if none that lack it has one of them. Where no complete
/// trial has it, others say when it is there.
std::optional<std::vector<std::string>> telling(const OptunaStudy& study, const std::string& name,
                                                const std::string& parent) {
  std::set<std::string> with, without;
  for (const OptunaTrial& trial : study.trials) {
    if (trial.state != State::kComplete) continue;
    const OptunaParameter *const own = find(trial, name), *const value = find(trial, parent);
    if (value == nullptr && own != nullptr) return std::nullopt;
    if (value != nullptr) (own != nullptr ? with : without).insert(text_of(*value));
  }
  if (with.empty())
    for (const OptunaTrial& trial : study.trials) {
      const OptunaParameter* const value = find(trial, parent);
      if (value != nullptr && find(trial, name) != nullptr) with.insert(text_of(*value));
    }
  for (const std::string& value : with)
    if (without.contains(value)) return std::nullopt;
  return std::vector<std::string>(with.begin(), with.end());
}

void add_condition(const OptunaStudy& study, const std::vector<tune::ParameterSettings>& before,
                   tune::ParameterSettings& settings) {
  const auto lacks = [&](const OptunaTrial& trial) {
    return trial.state == State::kComplete && find(trial, settings.name) == nullptr;
  };
  const auto lacking = std::find_if(study.trials.begin(), study.trials.end(), lacks);
  if (lacking == study.trials.end()) return;
  for (const tune::ParameterSettings& parent : before) {
    if (parent.kind != "categorical" && parent.kind != "integer") continue;
    const auto values = telling(study, settings.name, parent.name);
    if (!values || values->empty()) continue;
    settings.when[parent.name] = *values;
    return;
  }
  throw data_error(fmt::format(
      "[study] {}: trial {} and others lack it, and no choice or integer before it says when; give it a value in all "
      "trials",
      settings.name, lacking - study.trials.begin()));
}

/// Nothing where the trial lacks a parameter that it should have, or the other way round.
std::optional<tune::Point> point_of(const tune::Space& space, const OptunaTrial& trial) {
  tune::Point point(space.size(), std::numeric_limits<double>::quiet_NaN());
  for (size_t i = 0; i < space.size(); ++i) {
    const OptunaParameter* const parameter = find(trial, space[i].name);
    if (space.active(point, i) != (parameter != nullptr)) return std::nullopt;
    if (parameter == nullptr) continue;
    point[i] = parameter->value;
    if (!(point[i] >= space[i].low && point[i] <= space[i].high)) return std::nullopt;
    if (space[i].categorical() && point[i] != std::floor(point[i])) return std::nullopt;
  }
  return point;
}

GivenTrial given(const tune::Point& point, const OptunaTrial& trial) {
  GivenTrial made{.point = point,
                  .state = trial.state == State::kComplete ? tune::State::kComplete
                           : trial.state == State::kPruned ? tune::State::kPruned
                                                           : tune::State::kFailed,
                  .values = {},
                  .reason = "",
                  .curve = trial.curve,
                  .asked_s = trial.asked_s,
                  .told_s = trial.told_s,
                  .told_place = trial.ended_at};
  if (trial.state == State::kComplete) made.values = trial.values;
  if (trial.state == State::kPruned) made.reason = "pruned in Optuna";
  if (trial.state == State::kFailed) made.reason = "failed in Optuna";
  return made;
}

void set_objectives(const OptunaStudy& optuna, StudySettings& settings) {
  const size_t count = optuna.directions.size();
  settings.objective.assign(count, {});
  for (size_t i = 0; i < count; ++i) {
    settings.objective[i].metric = optuna.metric_names.size() == count ? optuna.metric_names[i]
                                   : count == 1                        ? "value"
                                                                       : fmt::format("value_{}", i);
    settings.objective[i].direction = optuna.directions[i] == tune::Direction::kMaximize ? "maximize" : "minimize";
  }
}

}  // namespace

GivenStudy from_optuna(const OptunaStudy& optuna) {
  GivenStudy made;
  StudySettings& settings = made.study.settings;
  set_objectives(optuna, settings);
  for (const auto& [name, distribution] : distributions_of(optuna)) {
    if (is_constant(distribution)) {
      made.notes.push_back(fmt::format("{} has one value and is not searched", name));
      continue;
    }
    tune::ParameterSettings parameter = settings_of(name, distribution);
    add_condition(optuna, settings.search, parameter);
    settings.search.push_back(std::move(parameter));
  }
  if (settings.search.empty())
    throw data_error(fmt::format("[study] {}: no trial has a parameter of more than one value", optuna.name));
  const tune::Space space = made.study.space();
  std::vector<const OptunaTrial*> ended;
  for (const OptunaTrial& trial : optuna.trials)
    if (trial.state != State::kRunning && trial.state != State::kWaiting) ended.push_back(&trial);
  if (ended.size() < optuna.trials.size())
    made.notes.push_back(fmt::format("{} run or wait and were left out",
                                     plural(static_cast<int64_t>(optuna.trials.size() - ended.size()), "trial")));
  for (const OptunaTrial* trial : ended)
    if (const auto point = point_of(space, *trial)) made.trials.push_back(given(*point, *trial));
  if (made.trials.size() < ended.size())
    made.notes.push_back(fmt::format("{} lack parameters and were left out",
                                     plural(static_cast<int64_t>(ended.size() - made.trials.size()), "trial")));
  settings.budget.trials += static_cast<int64_t>(made.trials.size());
  return made;
}

}  // namespace linac::study
