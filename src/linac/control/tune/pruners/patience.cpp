#include <fmt/format.h>

#include <limits>

#include "linac/control/tune/pruners/pruners.h"

namespace linac::tune {
namespace {

// A trial is stopped when its own loss has not fallen by least_gain for so many reports: of others it asks nothing.
class Patience : public Pruner {
 public:
  explicit Patience(const PrunerSettings& settings) : settings_(settings) {}

  Verdict verdict(const History&, const Trial& trial) const override {
    if (trial.curve.empty() || trial.curve.back().first < settings_.steps_min) return {};
    double best = std::numeric_limits<double>::infinity();
    int64_t since = 0;
    for (const auto& [step, loss] : trial.curve) {
      const bool gained =
          loss < best - settings_.least_gain || (best == std::numeric_limits<double>::infinity() && loss < best);
      since = gained ? 0 : since + 1;
      if (gained) best = loss;
    }
    if (since < settings_.patience) return {};
    return {true, fmt::format("no gain over {:g} for {} reports", best, since)};
  }

 private:
  PrunerSettings settings_;
};

}  // namespace

std::unique_ptr<Pruner> make_patience(const PrunerSettings& settings) {
  return std::make_unique<Patience>(settings);
}

}  // namespace linac::tune
