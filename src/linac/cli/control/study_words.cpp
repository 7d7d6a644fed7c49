#include "linac/cli/control/study_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/text_table.h"
#include "linac/study/runner.h"
#include "linac/tune/point_json.h"

namespace linac::cli {

using nlohmann::json;

std::string best_words(const study::Journal& journal) {
  const tune::History& history = journal.history();
  const tune::Trial* const best = history.best();
  if (best == nullptr) return fmt::format("no trial of {} is complete\n", history.trials().size());
  const auto& objective = journal.study().settings.objective;
  std::string text = fmt::format("best of {}: trial {}, {} {}\n", history.trials().size(), best->number,
                                 objective.metric.empty() ? "loss" : objective.metric, best->values[0]);
  for (const std::string& word : study::settings_of(history.space(), best->point)) text += "  --set " + word + "\n";
  return text;
}

std::string trials_words(const study::Journal& journal) {
  const tune::History& history = journal.history();
  const tune::Direction direction = journal.study().direction();
  std::vector<const tune::Trial*> trials;
  for (const tune::Trial& trial : history.trials()) trials.push_back(&trial);
  const auto rank = [&](const tune::Trial* trial) {
    const double value = study::value_of(*trial, direction);
    const double loss = tune::loss_of(direction, value);
    return std::pair(trial->state != tune::State::kComplete, std::isnan(loss) ? INFINITY : loss);
  };
  std::stable_sort(trials.begin(), trials.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  TextRows rows{{"TRIAL", "STATE", "VALUE", "EPOCHS"}};
  for (const tune::Parameter& parameter : history.space().parameters()) rows[0].push_back(parameter.name);
  rows[0].emplace_back("WHY");
  for (const tune::Trial* trial : trials) {
    const double value = study::value_of(*trial, direction);
    std::vector<std::string> row{std::to_string(trial->number), study::to_string(trial->state),
                                 std::isnan(value) ? "-" : fmt::format("{:.6g}", value),
                                 trial->curve.empty() ? "-" : std::to_string(trial->curve.back().first)};
    for (size_t i = 0; i < history.space().size(); ++i)
      row.push_back(std::isnan(trial->point[i]) ? "-" : history.space().text_of(i, trial->point[i]));
    row.push_back(trial->reason);
    rows.push_back(std::move(row));
  }
  return lined_up(rows);
}

json trial_json(const study::Journal& journal, const tune::Trial& trial) {
  const tune::Direction direction = journal.study().direction();
  json curve = json::array();
  for (const auto& [step, loss] : trial.curve)
    curve.push_back({step, tune::number_to_json(tune::loss_of(direction, loss))});
  json values = json::array();
  for (const double value : trial.values) values.push_back(tune::number_to_json(value));
  return {{"trial", trial.number},
          {"state", study::to_string(trial.state)},
          {"point", tune::to_json(journal.history().space(), trial.point)},
          {"values", values},
          {"curve", curve},
          {"reason", trial.reason}};
}

}  // namespace linac::cli
