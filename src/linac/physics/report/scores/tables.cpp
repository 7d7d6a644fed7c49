#include "linac/physics/report/scores/tables.h"

#include <fmt/format.h>

namespace linac::report {

std::vector<std::string> overall_scores(const ScoreReport& report) {
  std::vector<std::string> present;
  for (const char* name : {"exact_match", "accuracy", "balanced_accuracy", "top_2", "top_3", "top_5", "auc_macro",
                           "auc_weighted", "log_loss", "brier", "ece", "mse", "mae"}) {
    const bool twin = name == std::string("auc_weighted") && report.parts.size() == 2;  // one AUC for both classes
    if (!twin && scores::find(report.scores_of(0), name) != nullptr) present.emplace_back(name);
  }
  return present;
}

const char* part_word(const ScoreReport& report) {
  switch (report.task) {
    case scores::Task::kClasses:
      return "class";
    case scores::Task::kLabels:
      return "label";
    case scores::Task::kRegression:
      return "output";
  }
  return "";
}

std::vector<PartTable> part_tables(const ScoreReport& report) {
  if (report.support.empty()) return {{"Each output", {"mse", "mae", "bias", "resolution", "r2"}}};
  const bool labels = report.task == scores::Task::kLabels;
  const char* const each = labels ? "Events with each label against those without" : "Each class against all others";
  std::vector<std::string> scores{"auc", "average_precision", "precision", "recall", "f1", "ece"};
  if (labels) scores.insert(scores.begin() + 2, "accuracy");
  return {{each, scores},
          {"Background rejection at a signal efficiency",
           {"rejection_50", "rejection_80", "rejection_90", "rejection_95"}}};
}

std::vector<ScoreRow> rows_of(const ScoreReport& report) {
  if (report.folds) {
    std::vector<ScoreRow> rows{{fmt::format("mean of {}", report.models.size()), &report.folds->figures.scores, false}};
    for (size_t i = 0; i < report.models.size(); ++i) rows.push_back({report.models[i], &report.scores_of(i), false});
    return rows;
  }
  if (!report.compares()) return {{"", &report.scores_of(0), false}};
  return {{report.models[0], &report.scores_of(0), false},
          {report.models[1], &report.scores_of(1), false},
          {"difference", &report.difference(), true}};
}

}  // namespace linac::report
