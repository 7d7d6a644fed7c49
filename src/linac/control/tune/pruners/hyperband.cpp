// Hyperband (Li et al., JMLR 18, 2018, algorithm 1), asynchronous: brackets s = s_max ... 0 differ in where their first
// rung is, R factor^-s, R = steps_max; within each trials are halved as they come (halving.h). A trial's bracket
// follows from its number: brackets take turns in proportion to their trials, ceil((s_max + 1) factor^s / (s + 1)).
// With the sampler tpe this is BOHB (Falkner, Klein and Hutter, ICML 2018).

#include "linac/control/tune/pruners/halving.h"
#include "linac/control/tune/pruners/pruners.h"

namespace linac::tune {
namespace {

class Hyperband : public Pruner {
 public:
  explicit Hyperband(const PrunerSettings& settings) : settings_(settings) {
    std::vector<int64_t> powers{1};
    while (powers.back() <= settings.steps_max / settings.steps_min / settings.factor)
      powers.push_back(powers.back() * settings.factor);
    const auto count = static_cast<int64_t>(powers.size());
    for (int64_t s = count - 1; s >= 0; --s) {
      firsts_.push_back(settings.steps_max / powers[static_cast<size_t>(s)]);
      trials_.push_back((count * powers[static_cast<size_t>(s)] + s) / (s + 1));
      cycle_ += trials_.back();
    }
  }

  Verdict verdict(const History& history, const Trial& trial) const override {
    const size_t bracket = bracket_of(trial.number);
    return halving_verdict(history, trial, firsts_[bracket], settings_.factor,
                           [&](const Trial& other) { return bracket_of(other.number) == bracket; });
  }

 private:
  size_t bracket_of(int64_t number) const {
    int64_t place = (number % cycle_ + cycle_) % cycle_;
    size_t bracket = 0;
    while (place >= trials_[bracket]) place -= trials_[bracket++];
    return bracket;
  }

  PrunerSettings settings_;
  std::vector<int64_t> firsts_, trials_;  // of each bracket: its first rung, its trials in a cycle
  int64_t cycle_ = 0;
};

}  // namespace

std::unique_ptr<Pruner> make_hyperband(const PrunerSettings& settings) {
  return std::make_unique<Hyperband>(settings);
}

}  // namespace linac::tune
