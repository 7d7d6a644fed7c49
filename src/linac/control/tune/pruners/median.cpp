// The median stopping rule (Golovin et al., "Google Vizier", KDD 2017, section 3.2.2): a trial is stopped if its best
// loss so far is worse than the median of the others' losses at that step. The median is that of the sorted values, of
// an even number the mean of the two in the middle.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/control/tune/pruners/pruners.h"

namespace linac::tune {
namespace {

class Median : public Pruner {
 public:
  explicit Median(const PrunerSettings& settings) : settings_(settings) {}

  Verdict verdict(const History& history, const Trial& trial) const override {
    if (trial.curve.empty() || trial.curve.back().first < settings_.steps_min) return {};
    const int64_t step = trial.curve.back().first;
    std::vector<double> losses;
    for (const Trial& other : history.trials()) {
      const bool counts = other.state == State::kComplete || other.state == State::kPruned;
      if (counts && other.number != trial.number && reached(other, step)) losses.push_back(loss_at(other, step));
    }
    std::erase_if(losses, [](double loss) { return std::isnan(loss); });
    if (losses.size() < static_cast<size_t>(settings_.startup)) return {};
    std::sort(losses.begin(), losses.end());
    const size_t middle = losses.size() / 2;
    const double low = losses[(losses.size() - 1) / 2], high = losses[middle];
    const double median = low == high ? low : 0.5 * low + 0.5 * high;
    const double best = best_at(trial, step);
    if (!(best > median)) return {};
    return {true,
            fmt::format("loss {:g} at step {}: the median of {} trials is {:g}", best, step, losses.size(), median)};
  }

 private:
  PrunerSettings settings_;
};

}  // namespace

std::unique_ptr<Pruner> make_median(const PrunerSettings& settings) {
  return std::make_unique<Median>(settings);
}

}  // namespace linac::tune
