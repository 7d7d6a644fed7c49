#include "linac/cli/control/study_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "linac/base/base/plural.h"
#include "linac/base/base/text_table.h"
#include "linac/control/study/runner.h"
#include "linac/control/tune/pareto.h"

namespace linac::cli {

namespace {

std::string number_text(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.6g}", value);
}

/// A table of trials with their settings.
std::string table_of(const study::Ledger& ledger, const std::vector<const tune::Trial*>& trials) {
  const tune::History& history = ledger.history();
  TextRows rows{{"TRIAL", "STATE"}};
  for (const std::string& name : ledger.study().objective_names())
    rows[0].push_back(history.objectives() == 1 ? "VALUE" : name);
  rows[0].emplace_back("EPOCHS");
  for (const tune::Parameter& parameter : history.space().parameters()) rows[0].push_back(parameter.name);
  rows[0].emplace_back("WHY");
  for (const tune::Trial* trial : trials) {
    std::vector<std::string> row{std::to_string(trial->number), study::to_string(trial->state)};
    for (size_t i = 0; i < history.objectives(); ++i)
      row.push_back(i < trial->values.size() ? number_text(trial->values[i])
                    : i == 0                 ? number_text(study::value_of(*trial, history.directions()[0]))
                                             : "-");
    row.push_back(trial->curve.empty() ? "-" : std::to_string(trial->curve.back().first));
    for (size_t i = 0; i < history.space().size(); ++i)
      row.push_back(std::isnan(trial->point[i]) ? "-" : history.space().text_of(i, trial->point[i]));
    row.push_back(trial->reason);
    rows.push_back(std::move(row));
  }
  return lined_up(rows);
}

/// A member's settings changed on the way: what each interval had, from the first on.
std::string intervals_words(const tune::History& history, const tune::Trial& last) {
  std::string text;
  for (const tune::Trial* trial = &last; trial != nullptr; trial = history.find(trial->parent))
    text = fmt::format("  trial {}: {}\n", trial->number,
                       fmt::join(study::settings_of(history.space(), trial->point), " ")) +
           text;
  return text;
}

}  // namespace

std::string best_words(const study::Ledger& ledger) {
  const tune::History& history = ledger.history();
  std::vector<const tune::Trial*> front = history.front();
  if (front.empty()) return fmt::format("no trial of {} is complete\n", history.trials().size());
  if (history.objectives() > 1) {
    std::sort(front.begin(), front.end(), [](const auto* a, const auto* b) { return a->losses < b->losses; });
    return fmt::format("of {} no other one is better than {} in every objective:\n",
                       plural(static_cast<int64_t>(history.trials().size()), "trial"),
                       front.size() == 1 ? "this" : fmt::format("one of these {}", front.size())) +
           table_of(ledger, front);
  }
  const tune::Trial* const best = front[0];
  std::string text = fmt::format("best of {}: trial {}, {} {}\n", history.trials().size(), best->number,
                                 ledger.study().objective_names()[0], best->values[0]);
  if (ledger.study().settings.population.used()) return text + intervals_words(history, *best);
  for (const std::string& word : study::settings_of(history.space(), best->point)) text += "  --set " + word + "\n";
  return text;
}

std::string trials_words(const study::Ledger& ledger) {
  const tune::History& history = ledger.history();
  std::vector<const tune::Trial*> trials;
  for (const tune::Trial& trial : history.trials()) trials.push_back(&trial);
  std::vector<tune::Losses> rows;
  std::map<const tune::Trial*, size_t> complete;
  for (const tune::Trial* trial : trials)
    if (trial->state == tune::State::kComplete) complete[trial] = rows.size(), rows.push_back(trial->losses);
  const std::vector<size_t> fronts = tune::fronts_of(rows);
  const auto rank = [&](const tune::Trial* trial) {
    const auto found = complete.find(trial);
    if (found != complete.end()) return std::tuple(0, fronts[found->second], trial->losses[0]);
    const double value = study::value_of(*trial, history.directions()[0]);
    const double loss = tune::loss_of(history.directions()[0], value);
    return std::tuple(1, size_t{0}, std::isnan(loss) ? INFINITY : loss);
  };
  std::stable_sort(trials.begin(), trials.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return table_of(ledger, trials);
}

}  // namespace linac::cli
