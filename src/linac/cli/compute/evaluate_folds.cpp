#include "linac/cli/compute/evaluate_folds.h"
#include "linac/cli/data/report_folder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "linac/base/base/error.h"

namespace linac::cli {
namespace {

struct Fold {
  std::string model, name;
  Arrays arrays;

  const data::SplitRule* rule() const { return arrays.split && arrays.split->folds > 0 ? &*arrays.split : nullptr; }
  // "fold 2/5 by run, event" or "no fold"
  std::string words() const {
    if (rule() == nullptr) return "no fold";
    return fmt::format("fold {}/{} by {}, beside a test of {:.6g}", rule()->fold, rule()->folds,
                       fmt::join(rule()->key, ", "), rule()->test);
  }
};

void need_one_cross_validation(const Fold& first, const Fold& other) {
  const data::SplitRule *a = first.rule(), *b = other.rule();
  const bool same = a == nullptr || b == nullptr
                        ? a == b
                        : a->folds == b->folds && a->key == b->key && a->test == b->test && a->fold != b->fold;
  if (same) return;
  throw user_error(
      fmt::format("[evaluate] {} is {}, and {} is {}: judged together are different folds of one cross-validation, or "
                  "models without folds",
                  first.model, first.words(), other.model, other.words()));
}

std::string output_words(const Arrays& arrays) {
  return fmt::format("{} {} of {}{}", arrays.models[0].width, arrays.models[0].width == 1 ? "value" : "values",
                     arrays.target,
                     arrays.classes.empty() ? "" : fmt::format(" ({})", fmt::join(arrays.classes, ", ")));
}

void need_one_output(const Fold& first, const Fold& other) {
  const Arrays &a = first.arrays, &b = other.arrays;
  if (a.task == b.task && a.models[0].width == b.models[0].width && a.target == b.target && a.classes == b.classes &&
      a.targets.width == b.targets.width && a.event_of_row.empty() == b.event_of_row.empty())
    return;
  throw user_error(
      fmt::format("[evaluate] {} gives {} as {}, and {} gives {} as {}; judged together are models of one "
                  "output",
                  first.model, output_words(a), scores::to_string(a.task), other.model, output_words(b),
                  scores::to_string(b.task)));
}

std::string missing_folds(const std::vector<Fold>& folds) {
  if (folds[0].rule() == nullptr) return "";
  std::set<int> missing;
  for (int fold = 1; fold <= folds[0].rule()->folds; ++fold) missing.insert(fold);
  for (const Fold& fold : folds) missing.erase(fold.rule()->fold);
  return missing.empty() ? ""
                         : fmt::format("of {} folds there is no {}", folds[0].rule()->folds, fmt::join(missing, ", "));
}

}  // namespace

report::ScoreReport judge_folds(const Judging& options, ArraySources sources, const std::vector<std::string>& models) {
  if (!sources.predictions.empty() || !sources.compare.empty())
    throw user_error("[evaluate] several --model are judged with their spread; leave --predictions and --compare out");
  if (!sources.names.empty() && sources.names.size() != models.size()) {
    throw user_error(
        fmt::format("[evaluate] --names has {} names, but there are {} models", sources.names.size(), models.size()));
  }
  const std::vector<std::string> names = std::move(sources.names);
  const bool held_out = sources.model.data.empty();
  sources.model.validation_split = held_out || sources.model.validation_split;
  std::vector<Fold> folds;
  std::vector<report::ScoreReport> reports;
  bool same_truth = true;
  for (const std::string& model : models) {
    sources.model.model = model;
    sources.names.clear();
    Fold fold{.model = model, .name = {}, .arrays = read_arrays(sources)};
    for (const Fold& other : folds) {
      need_one_cross_validation(other, fold);
      need_one_output(other, fold);
    }
    fold.name = !names.empty()           ? names[folds.size()]
                : fold.rule() == nullptr ? fold.arrays.names[0]
                                         : fmt::format("fold {}/{}", fold.rule()->fold, fold.rule()->folds);
    fold.arrays.names = {fold.name};
    reports.push_back(judge(options, fold.arrays));
    fold.arrays.models[0].values.clear();
    if (!folds.empty() && fold.arrays.targets.values != folds[0].arrays.targets.values) same_truth = false;
    folds.push_back(std::move(fold));
  }
  const bool own_part = held_out || sources.model.part == "train" || sources.model.part == "validation";
  report::ScoreReport report =
      report::over_folds(std::move(reports), !own_part || (folds[0].rule() == nullptr && same_truth));
  const char* events = held_out   ? "each on the events that tested it in its training"
                       : own_part ? "each on its own part of the data"
                                  : "all on the same events";
  report.title = fmt::format("{} models on {}", models.size(), folds[0].arrays.targets.name);
  report.remarks.insert(report.remarks.begin(),
                        fmt::format("mean ± standard deviation of {} models (n - 1), {}", models.size(), events));
  if (const std::string missing = missing_folds(folds); !missing.empty())
    report.remarks.insert(report.remarks.begin() + 1, missing);
  report.facts = {made_fact(), {"targets", folds[0].arrays.targets.name}};
  for (const Fold& fold : folds) report.facts.emplace_back("predictions of " + fold.name, fold.arrays.models[0].name);
  report.facts.emplace_back("bootstrap replicas", fmt::format("{}, seed {}", report.replicas, options.bootstrap.seed));
  return report;
}

}  // namespace linac::cli
