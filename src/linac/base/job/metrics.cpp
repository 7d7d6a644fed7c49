#include "linac/base/job/metrics.h"

#include <algorithm>

namespace linac::job {
namespace {

const Metric* find(std::string_view name) {
  const auto found = std::ranges::find(metrics(), name, &Metric::name);
  return found == metrics().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<Metric>& metrics() {
  using enum Better;
  using enum Metric::Of;
  using enum Metric::InKeras;
  using enum Metric::From;
  using enum Metric::Targets;
  static const std::vector<Metric> table{
      {"accuracy", kHigher, kFit, kYes, kEvents, kClassNumbers},
      {"top_k_accuracy", kHigher, kFit, kNo, kEvents, kClassNumbers},
      {"auc", kHigher, kFit, kNo, kAllScores, kClassNumbers},
      {"precision", kHigher, kFit, kYes},
      {"recall", kHigher, kFit, kYes},
      {"f1_score", kHigher, kFit, kYes},
      {"binary_crossentropy", kLower, kFit, kYes},
      {"binary_focal_crossentropy", kLower, kFit},
      {"categorical_crossentropy", kLower, kFit, kYes},
      {"categorical_focal_crossentropy", kLower, kFit},
      {"cosine_similarity", kHigher, kFit, kYes},
      {"hinge", kLower, kFit, kYes},
      {"huber", kLower, kFit},
      {"kl_divergence", kLower, kFit, kYes},
      {"log_cosh", kLower, kFit},
      {"mean_absolute_error", kLower, kFit, kYes},
      {"mean_absolute_percentage_error", kLower, kFit, kYes},
      {"mean_squared_error", kLower, kFit, kYes},
      {"mean_squared_logarithmic_error", kLower, kFit, kYes},
      {"poisson", kLower, kFit, kYes},
      {"squared_hinge", kLower, kFit, kYes},
      {"loss", kLower, kRun},
      {"total", kLower, kRun},
      {"r2", kHigher, kRun},
      {"response", kLower, kPhysics},
      {"linearity", kLower, kPhysics},
      {"profile", kLower, kPhysics},
      {"spectrum", kLower, kPhysics},
      {"correlation", kLower, kPhysics},
      {"fpd", kLower, kPhysics},
      {"kpd", kLower, kPhysics},
      {"ssim", kLower, kPhysics},
      {"ks", kLower, kPhysics},
      {"wasserstein", kLower, kPhysics},
      {"separation", kLower, kPhysics},
      {"chi2", kLower, kPhysics},
  };
  return table;
}

std::vector<std::string> fit_metrics() {
  std::vector<std::string> names;
  for (const Metric& metric : metrics())
    if (metric.of == Metric::Of::kFit) names.emplace_back(metric.name);
  return names;
}

bool keras_has_metric(std::string_view name) {
  const Metric* metric = find(name);
  return metric != nullptr && metric->in_keras == Metric::InKeras::kYes;
}

bool is_of_all_scores(std::string_view name) {
  const Metric* metric = find(name);
  return metric != nullptr && metric->from == Metric::From::kAllScores;
}

bool takes_class_numbers(std::string_view name) {
  const Metric* metric = find(name);
  return metric != nullptr && metric->targets == Metric::Targets::kClassNumbers;
}

std::optional<Better> better_of(std::string_view measure) {
  const std::string_view part = measure.substr(measure.rfind('/') + 1);  // of "g/total"
  const Metric* found = nullptr;
  for (const Metric& metric : metrics()) {
    const std::string_view name = metric.name;
    const bool whole = part == name;
    // Behind the name of an output.
    const bool of_output = metric.of != Metric::Of::kPhysics && part.size() > name.size() && part.ends_with(name) &&
                           part[part.size() - name.size() - 1] == '_';
    const bool of_family = metric.of == Metric::Of::kPhysics && part.size() > name.size() && part.starts_with(name) &&
                           part[name.size()] == '.';
    if (whole || of_output || of_family) found = &metric;
    if (whole) break;
  }
  return found == nullptr ? std::nullopt : std::optional(found->better);
}

}  // namespace linac::job
