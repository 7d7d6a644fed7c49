#include "linac/control/study/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/control/tune/forest.h"
#include "linac/control/tune/point_json.h"

namespace linac::study {
namespace {

using nlohmann::json;

constexpr size_t kMapCells = 60;  // whole cells for most small numbers of values
constexpr uint64_t kForestSeed = 0;

json number(double value) {
  return std::isfinite(value) ? json(value) : json();
}

// A discrete value stands for what is rounded to it: so far the cube reaches beyond the range.
double edge_of(const tune::Parameter& parameter) {
  return parameter.discrete() && !parameter.categorical() ? 0.5 * (parameter.log ? 1 : parameter.step) : 0;
}

json parameter_json(const tune::Parameter& parameter) {
  return {{"name", parameter.name},     {"low", parameter.low}, {"high", parameter.high},
          {"edge", edge_of(parameter)}, {"log", parameter.log}, {"choices", parameter.choices}};
}

json shown_json(const Ledger& ledger, const tune::Trial& trial) {
  const tune::Space& space = ledger.history().space();
  json values = json::array(), at = json::array(), words = json::array(), curve = json::array();
  for (const double value : trial.values) values.push_back(number(value));
  for (size_t i = 0; i < space.size(); ++i) {
    at.push_back(number(trial.point[i]));
    words.push_back(std::isnan(trial.point[i]) ? json() : json(space.text_of(i, trial.point[i])));
  }
  for (const auto& [step, loss] : trial.curve)
    curve.push_back({step, number(tune::loss_of(ledger.history().directions()[0], loss))});
  const Ledger::Times times = ledger.times_of(trial.number);
  return {{"trial", trial.number},
          {"from", trial.parent != 0 ? json(trial.parent) : json()},
          {"state", to_string(trial.state)},
          {"reason", trial.reason},
          {"values", values},
          {"at", at},
          {"words", words},
          {"curve", curve},
          {"cost", number(trial.cost)},
          {"seconds", times.told > times.asked && times.asked > 0 ? json(times.told - times.asked) : json()}};
}

/// The first objective by the two parameters that decide most.
json map_json(const tune::Forest& forest, const std::vector<double>& shares, tune::Direction direction) {
  if (forest.empty() || shares.size() < 2) return nullptr;
  std::vector<size_t> order(shares.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a] > shares[b]; });
  json values = json::array();
  for (const double loss : forest.map(order[0], order[1], kMapCells))
    values.push_back(number(tune::loss_of(direction, loss)));
  return {{"x", order[0]}, {"y", order[1]}, {"cells", kMapCells}, {"values", values}};
}

}  // namespace

json record_of(const Ledger& ledger, const std::string& title, std::vector<std::pair<std::string, std::string>> facts) {
  const tune::History& history = ledger.history();
  const StudySettings& settings = ledger.study().settings;
  const std::vector<std::string> names = ledger.study().objective_names();
  json objectives = json::array(), importance = json::array(), parameters = json::array(), trials = json::array(),
       front = json::array(), map;
  for (size_t i = 0; i < names.size(); ++i) {
    objectives.push_back({{"name", names[i]}, {"maximize", history.directions()[i] == tune::Direction::kMaximize}});
    const tune::Forest forest(history, i, kForestSeed);
    importance.push_back(forest.importance());
    if (i == 0) map = map_json(forest, forest.importance(), history.directions()[0]);
  }
  for (const tune::Parameter& parameter : history.space().parameters()) parameters.push_back(parameter_json(parameter));
  for (const tune::Trial& trial : history.trials()) trials.push_back(shown_json(ledger, trial));
  for (const tune::Trial* trial : history.front()) front.push_back(trial->number);
  facts.insert(facts.end(), {{"sampler", settings.sampler.name},
                             {"pruner", settings.pruner.name},
                             {"seed", std::to_string(settings.seed)},
                             {"budget", fmt::format("{} trials", settings.budget.trials)}});
  if (settings.budget.cost > 0)
    facts.emplace_back(
        "cost", fmt::format("{:.4g} of {:.4g} ({})", history.spent(), settings.budget.cost, settings.sampler.cost));
  const bool carried_out_here = !ledger.study().job.empty() || !ledger.study().command().empty();
  if (carried_out_here) facts.emplace_back("at a time", std::to_string(settings.parallel));
  json said = json::array();
  for (const auto& [name, text] : facts) said.push_back({name, text});
  return {{"title", title},   {"facts", said},  {"objectives", objectives}, {"parameters", parameters},
          {"trials", trials}, {"front", front}, {"importance", importance}, {"map", map}};
}

json trial_json(const Ledger& ledger, const tune::Trial& trial) {
  const tune::Direction direction = ledger.history().directions().front();
  json curve = json::array();
  for (const auto& [step, loss] : trial.curve)
    curve.push_back({step, tune::number_to_json(tune::loss_of(direction, loss))});
  json values = json::array();
  for (const double value : trial.values) values.push_back(tune::number_to_json(value));
  return {{"trial", trial.number},
          {"from", trial.parent != 0 ? json(trial.parent) : json()},
          {"state", to_string(trial.state)},
          {"point", tune::to_json(ledger.history().space(), trial.point)},
          {"values", values},
          {"curve", curve},
          {"cost", number(trial.cost)},
          {"reason", trial.reason}};
}

}  // namespace linac::study
