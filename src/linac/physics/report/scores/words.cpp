#include "linac/physics/report/scores/words.h"

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "linac/physics/report/page/numbers.h"

namespace linac::report {

std::string score_title(scores::Task task, const std::string& name) {
  static const std::map<std::string, std::string> titles{{"accuracy", "accuracy"},
                                                         {"exact_match", "all labels right"},
                                                         {"balanced_accuracy", "balanced accuracy"},
                                                         {"top_2", "true class among the first 2"},
                                                         {"top_3", "true class among the first 3"},
                                                         {"top_5", "true class among the first 5"},
                                                         {"auc_macro", "AUC, mean of the classes"},
                                                         {"auc_weighted", "AUC, weighted by events"},
                                                         {"auc", "AUC"},
                                                         {"log_loss", "log loss"},
                                                         {"brier", "Brier score"},
                                                         {"ece", "calibration error"},
                                                         {"average_precision", "average precision"},
                                                         {"f1", "F1"},
                                                         {"rejection_50", "1/fpr at 50 %"},
                                                         {"rejection_80", "1/fpr at 80 %"},
                                                         {"rejection_90", "1/fpr at 90 %"},
                                                         {"rejection_95", "1/fpr at 95 %"},
                                                         {"mse", "mean squared error"},
                                                         {"mae", "mean absolute error"},
                                                         {"r2", "R²"}};
  if (name == "auc_macro" && task == scores::Task::kLabels) return "AUC, mean of the labels";
  const auto found = titles.find(name);
  return found == titles.end() ? name : found->second;
}

std::string score_text(const scores::Estimate* estimate) {
  if (estimate == nullptr || std::isnan(estimate->value)) return "–";
  if (!std::isnan(estimate->above)) return fmt::format("> {} (95 %)", short_number(estimate->above));
  return with_uncertainty(estimate->value, estimate->error);
}

std::string significance_text(const scores::Estimate* difference) {
  if (difference == nullptr || !std::isfinite(difference->value) || !(difference->error > 0)) return "–";
  return fmt::format("{:.1f} σ", std::abs(difference->value) / difference->error);
}

}  // namespace linac::report
