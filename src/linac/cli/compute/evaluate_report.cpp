#include "linac/cli/compute/evaluate_report.h"
#include "linac/cli/data/report_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/physics/report/scores/words.h"

namespace linac::cli {
namespace {

constexpr int64_t kFewEvents = 30;  // of a class: its scores scatter widely, and so do their uncertainties

std::vector<scores::Table> predictions_in(const Arrays& arrays) {
  std::vector<scores::Table> tables;
  for (const Array& model : arrays.models) tables.push_back(arrays.table(model));
  return tables;
}

// How many events are of a class, or have a label: "is of" and "are of", "has" and "have".
void add_support(int64_t events, const char* of_one, const char* of_several, const std::string& name,
                 report::ScoreReport& report) {
  report.support.push_back(events);
  if (events == 0) report.remarks.push_back(fmt::format("no event {} '{}'", of_one, name));
  if (events > 0 && events < kFewEvents)
    report.remarks.push_back(fmt::format("only {} events {} '{}'", events, of_several, name));
}

void judge_classes(const Judging& options, const Arrays& arrays, report::ScoreReport& report) {
  const scores::Labels labels(arrays.table(arrays.targets), arrays.models[0].width, options.classes);
  std::vector<scores::Predictions> predictions;
  for (const scores::Table& table : predictions_in(arrays)) predictions.emplace_back(table, labels);
  report.parts = labels.names();
  for (size_t label = 0; label < labels.classes(); ++label)
    add_support(labels.support(label), "is of", "are of", labels.names()[label], report);
  report.judgement = scores::judge_classifiers(labels, predictions, options.bootstrap);
}

// Of the labels, or the outputs of a regression.
std::vector<std::string> names_of(const Judging& options, const Arrays& arrays, const char* what) {
  const size_t count = arrays.targets.width;
  std::vector<std::string> names = options.classes;
  if (!names.empty() && names.size() != count) {
    throw user_error(
        fmt::format("[evaluate] --classes names {} {}s, but the targets have {}", names.size(), what, count));
  }
  for (size_t i = names.size(); i < count; ++i) names.push_back(count == 1 ? what : fmt::format("{} {}", what, i));
  return names;
}

void judge_labels(const Judging& options, const Arrays& arrays, report::ScoreReport& report) {
  report.parts = names_of(options, arrays, "label");
  report.judgement = scores::judge_labels(arrays.table(arrays.targets), predictions_in(arrays), options.bootstrap);
  const std::vector<float>& truth = arrays.targets.values;
  for (size_t label = 0; label < report.parts.size(); ++label) {
    int64_t events = 0;
    for (size_t i = label; i < truth.size(); i += report.parts.size()) events += truth[i] == 1 ? 1 : 0;
    add_support(events, "has", "have", report.parts[label], report);
  }
}

void judge_outputs(const Judging& options, const Arrays& arrays, report::ScoreReport& report) {
  report.parts = names_of(options, arrays, "output");
  report.judgement = scores::judge_regressions(arrays.table(arrays.targets), predictions_in(arrays), options.bootstrap);
}

void judge_task(const Judging& options, const Arrays& arrays, report::ScoreReport& report) {
  switch (report.task = arrays.task) {
    case scores::Task::kClasses:
      return judge_classes(options, arrays, report);
    case scores::Task::kLabels:
      return judge_labels(options, arrays, report);
    case scores::Task::kRegression:
      return judge_outputs(options, arrays, report);
  }
}

// What each row counts, checked; empty where all count the same.
std::vector<double> weights_of(const Arrays& arrays) {
  const Array& weights = arrays.weights;
  if (weights.values.empty()) return {};
  if (weights.width != 1 || weights.values.size() != arrays.rows()) {
    throw data_error(
        fmt::format("[evaluate] {} has {} events of {} values, but wanted is one weight for each of the {} "
                    "events",
                    weights.name, weights.values.size() / weights.width, weights.width, arrays.rows()));
  }
  return {weights.values.begin(), weights.values.end()};
}

// "average precision of QCD, ttbar; accuracy"
std::string words_of(scores::Task task, const std::vector<scores::ScoreName>& names,
                     const std::vector<std::string>& parts) {
  std::vector<std::string> words;
  std::string last;
  for (const auto& [name, part] : names) {
    const std::string of = part < 0 ? "" : parts[static_cast<size_t>(part)];
    if (name == last && part >= 0)
      words.back() += ", " + of;
    else
      words.push_back(report::score_title(task, name) + (of.empty() ? "" : " of " + of));
    last = name;
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

void add_weight_facts(const Judging& options, const Arrays& arrays, report::ScoreReport& report) {
  const std::vector<double>& weights = options.bootstrap.event_weights;
  if (weights.empty()) return;
  report.facts.emplace_back("weights of the events", arrays.weights.name);
  report.weights = report::WeightFacts{.sum = std::accumulate(weights.begin(), weights.end(), 0.0),
                                       .effective = scores::effective_events(weights),
                                       .below_zero = scores::below_zero(weights)};
  report.remarks.push_back(
      fmt::format("events count by their weights: {:.6g} in all, worth {:.0f} events of one weight",
                  report.weights->sum, report.weights->effective));
  if (report.weights->below_zero == 0) return;
  std::vector<scores::ScoreName> left_out = report.left_out();
  std::ranges::stable_sort(left_out, {}, &scores::ScoreName::first);
  report.remarks.push_back(fmt::format(
      "{} of the {} weights are below zero{}", report.weights->below_zero, weights.size(),
      left_out.empty()
          ? ""
          : "; left out, as they cannot be under such weights: " + words_of(report.task, left_out, report.parts)));
}

/// Names may be others than those that are known, but not the same at other places: nobody means that.
void need_places_of(const std::vector<std::string>& known, const std::vector<std::string>& given) {
  for (size_t i = 0; i < given.size(); ++i) {
    const auto place = std::ranges::find(known, given[i]);
    if (place == known.end() || place - known.begin() == static_cast<std::ptrdiff_t>(i)) continue;
    throw user_error(
        fmt::format("[evaluate] --classes {}: the predictions are known to be of {}, in this order; leave "
                    "--classes out",
                    fmt::join(given, ","), fmt::join(known, ",")));
  }
}

}  // namespace

report::ScoreReport judge(Judging options, const Arrays& arrays) {
  const bool named = arrays.task == scores::Task::kClasses ||
                     (arrays.task == scores::Task::kLabels && arrays.classes.size() == arrays.targets.width);
  if (named) need_places_of(arrays.classes, options.classes);
  if (options.classes.empty() && named) options.classes = arrays.classes;
  options.bootstrap.event_weights = weights_of(arrays);
  options.bootstrap.event_of_row = arrays.event_of_row;
  report::ScoreReport report;
  report.models = arrays.names;
  report.title = fmt::format("{} on {}", fmt::join(arrays.names, " beside "), arrays.targets.name);
  report.remarks = arrays.remarks;
  report.events = static_cast<int64_t>(arrays.rows());
  report.of_steps = !arrays.event_of_row.empty();
  report.replicas = options.bootstrap.replicas;
  judge_task(options, arrays, report);
  report.facts = {made_fact(), {"targets", arrays.targets.name}};
  for (size_t i = 0; i < arrays.models.size(); ++i)
    report.facts.emplace_back("predictions of " + arrays.names[i], arrays.models[i].name);
  add_weight_facts(options, arrays, report);
  report.facts.emplace_back("bootstrap replicas", fmt::format("{}, seed {}", report.replicas, options.bootstrap.seed));
  return report;
}

}  // namespace linac::cli
