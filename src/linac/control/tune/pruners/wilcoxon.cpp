// Trials whose steps are the same cases for all, as folds or data sets: the trial is compared with the best complete
// one case by case by the signed-rank test (Wilcoxon, Biometrics Bulletin 1, 1945), one-sided, by the normal
// approximation with the correction for ties (Hollander, Wolfe and Chicken, "Nonparametric statistical methods", 2014,
// eq. 3.9, 3.13). Differences of 0 are left out. A trial whose mean is better than the best one's is never stopped.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "linac/control/tune/normal.h"
#include "linac/control/tune/pruners/pruners.h"

namespace linac::tune {
namespace {

// How seldom differences with a median of 0 would be so large.
double p_value_of(std::vector<double> differences) {
  std::erase(differences, 0.0);
  std::sort(differences.begin(), differences.end(),
            [](double one, double other) { return std::abs(one) < std::abs(other); });
  const auto n = static_cast<double>(differences.size());
  double positive = 0, ties = 0;
  for (size_t begin = 0, end = 0; begin < differences.size(); begin = end) {
    while (end < differences.size() && std::abs(differences[end]) == std::abs(differences[begin])) ++end;
    const auto equal = static_cast<double>(end - begin);
    const double rank = 0.5 * static_cast<double>(begin + end + 1);
    for (size_t i = begin; i < end; ++i) positive += differences[i] > 0 ? rank : 0;
    ties += equal * (equal * equal - 1);
  }
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48;
  return variance > 0 ? normal_distribution(-(positive - n * (n + 1) / 4) / std::sqrt(variance)) : 1;
}

class Wilcoxon : public Pruner {
 public:
  explicit Wilcoxon(const PrunerSettings& settings) : settings_(settings) {}

  Verdict verdict(const History& history, const Trial& trial) const override {
    const Trial* const best = history.best();
    if (best == nullptr || history.complete_count() < static_cast<size_t>(settings_.startup)) return {};
    const std::map<int64_t, double> of_best(best->curve.begin(), best->curve.end());
    std::vector<double> differences;
    double sum = 0;
    for (const auto& [step, loss] : trial.curve) {
      const auto other = of_best.find(step);
      if (other == of_best.end() || !std::isfinite(other->second)) continue;
      // An infinite loss is larger than any other: its difference has the last rank.
      differences.push_back(std::clamp(loss - other->second, -1e300, 1e300));
      sum += differences.back() / static_cast<double>(trial.curve.size());
    }
    if (differences.size() < static_cast<size_t>(std::max<int64_t>(settings_.steps_min, 2)) || sum <= 0) return {};
    const double p = p_value_of(differences);
    if (p >= settings_.p_value) return {};
    return {true, fmt::format("worse than trial {} in {} cases: p = {:.2g}", best->number, differences.size(), p)};
  }

 private:
  PrunerSettings settings_;
};

}  // namespace

std::unique_ptr<Pruner> make_wilcoxon(const PrunerSettings& settings) {
  return std::make_unique<Wilcoxon>(settings);
}

}  // namespace linac::tune
