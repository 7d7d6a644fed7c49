#include "linac/control/tune/pruners/halving.h"
#include "linac/control/tune/pruners/pruners.h"

namespace linac::tune {
namespace {

class Asha : public Pruner {
 public:
  explicit Asha(const PrunerSettings& settings) : settings_(settings) {}

  Verdict verdict(const History& history, const Trial& trial) const override {
    return halving_verdict(history, trial, settings_.steps_min, settings_.factor, [](const Trial&) { return true; });
  }

 private:
  PrunerSettings settings_;
};

}  // namespace

std::unique_ptr<Pruner> make_asha(const PrunerSettings& settings) {
  return std::make_unique<Asha>(settings);
}

}  // namespace linac::tune
