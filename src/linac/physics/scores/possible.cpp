#include "linac/physics/scores/possible.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

constexpr double kConfidence = 0.95, kInfinity = std::numeric_limits<double>::infinity();
constexpr double kRounding = 1e-9, kShareErrorMax = 0.5;

struct Limits {
  double low, high;
};

bool is_rejection(const std::string& name) {
  return name.starts_with("rejection_");
}

bool is_share(const std::string& name) {
  for (const char* one : {"accuracy", "balanced_accuracy", "exact_match", "precision", "recall", "f1", "ece"})
    if (name == one) return true;
  return name.starts_with("auc") || name.starts_with("top_");
}

Limits limits_of(const std::string& name) {
  if (is_share(name)) return {0, 1};
  if (is_rejection(name)) return {1, kInfinity};
  if (name == "bias") return {-kInfinity, kInfinity};
  if (name == "r2") return {-kInfinity, 1};
  return {0, kInfinity};
}

bool is_possible(const Score& score) {
  if (score.name == "average_precision") return false;
  const auto [low, high] = limits_of(score.name);
  const Estimate& found = score.estimate;
  if (is_share(score.name) && found.error > kShareErrorMax) return false;
  return found.value >= low - kRounding && found.value <= high + kRounding;
}

// P(a, x), the regularised incomplete gamma function, by its series.
double gamma_share(double a, double x) {
  double term = 1, sum = 1;
  for (double n = a + 1; term > sum * std::numeric_limits<double>::epsilon(); ++n) sum += term *= x / n;
  return sum * std::exp(a * std::log(x) - x - std::lgamma(a + 1));
}

void limit(Estimate& rejection, double background, int replicas) {
  const bool known = std::isfinite(rejection.value) && (replicas == 0 || rejection.error < rejection.value);
  if (known || std::isnan(rejection.value)) return;
  const double value = rejection.value;
  rejection = {.value = value};
  if (background > 0) rejection.above = background / events_at_most(background / value);
}

}  // namespace

double events_at_most(double seen) {
  // P(seen or fewer | mean) = 1 - P(seen + 1, mean) falls with the mean.
  double low = seen, high = seen + 4 * std::sqrt(seen + 1);
  while (gamma_share(seen + 1, high) < kConfidence) high *= 2;
  while (high - low > 1e-6 * high) {
    const double middle = (low + high) / 2;
    (gamma_share(seen + 1, middle) < kConfidence ? low : high) = middle;
  }
  return high;
}

std::vector<ScoreName> keep_possible(std::span<std::vector<Score>* const> models, std::vector<Score>& difference,
                                     std::span<const double> backgrounds, const BootstrapOptions& options) {
  const bool has_below_zero = below_zero(options.event_weights) > 0;
  std::vector<ScoreName> left_out;
  for (std::vector<Score>* const scores : models) {
    LINAC_CHECK(difference.empty() || difference.size() == scores->size());
    for (size_t i = 0; i < scores->size(); ++i) {
      Score& score = (*scores)[i];
      const ScoreName name{score.name, score.part};
      if (is_rejection(score.name))
        limit(score.estimate, backgrounds[static_cast<size_t>(score.part)], options.replicas);
      const bool there = !std::isnan(score.estimate.value) || score.name == "ece";  // of which each event has a bin
      if (has_below_zero && there && !is_possible(score)) {
        score.estimate = {};
        if (std::ranges::find(left_out, name) == left_out.end()) left_out.push_back(name);
      }
      const bool known = !std::isnan(score.estimate.value) && std::isnan(score.estimate.above);
      if (!difference.empty() && !known) difference[i].estimate = {};
    }
  }
  return left_out;
}

}  // namespace linac::scores
