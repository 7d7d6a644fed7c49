#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "linac/base/base/plural.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/run/words.h"
#include "linac/physics/report/study/axes.h"
#include "linac/physics/report/study/report.h"

namespace linac::report {
namespace {

constexpr const char* kReading =
    "A trial is <em>complete</em> if it came to its end with a value, <em>pruned</em> if it was given up early, "
    "<em>infeasible</em> if its settings cannot be used, and <em>failed</em> if its process was lost. "
    "<em>Importance</em> is a functional analysis of variance: of a forest of trees that is fitted to the complete "
    "trials, the share of the variance over the whole space that one parameter alone explains, where all shares add up "
    "to one. It says what matters in the space that was searched, not near the best point, and is rough while trials "
    "are few. A parameter that is inactive counts as the middle of its range.";

std::string value_text(double value) {
  return std::isfinite(value) ? fmt::format("{:.6g}", value) : "–";
}

std::string settings_part(const StudyRecord& record, const StudyTrial& trial) {
  std::vector<std::string> words;
  for (size_t i = 0; i < record.parameters.size(); ++i)
    if (!trial.words[i].empty()) words.push_back("--set " + record.parameters[i].name + "=" + trial.words[i]);
  return element("p", "", element("code", "", escape(fmt::format("{}", fmt::join(words, " ")))));
}

std::string headline(const StudyRecord& record) {
  std::string lines;
  if (record.front.empty()) {
    lines = element("p", "class=\"word\"", "No trial is complete");
  } else if (record.objectives.size() > 1) {
    std::vector<std::string> names;
    for (const StudyObjective& one : record.objectives) names.push_back(one.name);
    lines = element(
        "p", "class=\"word\"",
        escape(fmt::format("{} on the front of {}", plural(record.front.size(), "trial"), fmt::join(names, " and "))));
  } else {
    const StudyTrial& best = *record.find(record.front[0]);
    lines = element("p", "class=\"word\"",
                    escape(fmt::format("{} {} in trial {}", record.objectives[0].name, value_text(best.values[0]),
                                       best.number))) +
            settings_part(record, best);
  }
  std::map<std::string, size_t> states;
  double seconds = 0;
  for (const StudyTrial& trial : record.trials) ++states[trial.state], seconds += trial.seconds.value_or(0);
  std::string text = plural(record.trials.size(), "trial");
  for (const auto& [state, count] : states) text += fmt::format(" · {} {}", count, state);
  if (seconds > 0) text += " · " + seconds_text(seconds) + " of trials";
  return element("section", "class=\"verdict neutral\"", lines + element("p", "class=\"quiet\"", escape(text)));
}

std::vector<const StudyTrial*> best_first(const StudyRecord& record) {
  std::vector<const StudyTrial*> trials;
  for (const StudyTrial& trial : record.trials) trials.push_back(&trial);
  const auto rank = [&](const StudyTrial* trial) {
    const bool front = std::find(record.front.begin(), record.front.end(), trial->number) != record.front.end();
    const double value = value_of(*trial), loss = record.objectives[0].maximize ? -value : value;
    return std::tuple(!trial->complete(), !front, std::isnan(loss) ? INFINITY : loss);
  };
  std::stable_sort(trials.begin(), trials.end(), [&](const auto* a, const auto* b) { return rank(a) < rank(b); });
  return trials;
}

std::string trials_table(const StudyRecord& record, const std::vector<const StudyTrial*>& trials) {
  std::vector<std::string> heads{"trial"};
  for (const StudyObjective& one : record.objectives) heads.push_back(escape(one.name));
  for (const StudyParameter& one : record.parameters) heads.push_back(escape(one.name));
  heads.insert(heads.end(), {"steps", "time"});
  const auto cell = [](const std::string& label, const std::string& text) {
    return table_cell(label, escape(text), text == "–" ? "class=\"n none\"" : "class=\"n\"");
  };
  std::string rows;
  for (const StudyTrial* trial : trials) {
    std::string cells = element("th", "scope=\"row\"",
                                element("span", "class=\"title\"", fmt::format("{}", trial->number)) +
                                    (trial->complete() ? ""
                                                       : element("small", "", escape(trial->state)) +
                                                             element("small", "", escape(trial->reason))));
    for (size_t i = 0; i < record.objectives.size(); ++i)
      cells += cell(record.objectives[i].name, value_text(i < trial->values.size() ? trial->values[i]
                                                          : i == 0                 ? value_of(*trial)
                                                                                   : NAN));
    for (size_t i = 0; i < record.parameters.size(); ++i) {
      const std::string& word = trial->words[i];
      const bool number = record.parameters[i].choices.empty() && !word.empty();
      cells += cell(record.parameters[i].name, word.empty() ? "–" : number ? value_text(trial->at[i]) : word);
    }
    cells += cell("steps", trial->curve.empty() ? "–" : fmt::format("{}", trial->curve.back().first));
    cells += cell("time", trial->seconds ? seconds_text(*trial->seconds) : "–");
    rows += element("tr", "", cells);
  }
  return element("div", "style=\"overflow-x:auto\"",
                 element("table", "class=\"figures\"", table_heads(heads) + element("tbody", "", rows)));
}

std::string tables(const StudyRecord& record) {
  constexpr size_t kOpen = 10;
  const std::vector<const StudyTrial*> trials = best_first(record);
  if (trials.empty()) return {};
  const std::vector<const StudyTrial*> first(trials.begin(),
                                             trials.begin() + static_cast<long>(std::min(trials.size(), kOpen)));
  std::string text =
      element("h2", "", trials.size() > kOpen ? "The best trials" : "Trials") + trials_table(record, first);
  if (trials.size() > kOpen)
    text += element("details", "",
                    element("summary", "", fmt::format("All {} trials, the best first", trials.size())) +
                        trials_table(record, trials));
  return text;
}

}  // namespace

std::string to_html(const StudyRecord& record, const std::vector<NamedPicture>& pictures) {
  return whole_page(record.title, headline(record) + tables(record) + pictures_part(record.title, pictures) +
                                      facts_part(record.facts) + element("h2", "", "How to read this") +
                                      element("p", "class=\"reading\"", kReading));
}

}  // namespace linac::report
