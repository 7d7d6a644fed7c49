#pragma once
// The contract of pruners: whether a running trial is to be stopped is a pure function of what its study was told, so
// it is replayed with it. Asked after a value was reported; a trial without one goes on. Values that are no numbers
// count as infinitely bad. Pure, thread-safe while the history does not grow.

#include <memory>
#include <string>
#include <vector>

#include "linac/control/tune/history.h"

namespace linac::tune {

/// A study's choice of pruner.
struct PrunerSettings {
  std::string name = "none";
  int64_t steps_min = 1;
  int64_t steps_max = 100;
  int64_t factor = 3;
  int64_t startup = 5;
  int64_t patience = 5;
  double least_gain = 0;
  double p_value = 0.1;

  template <class Visitor>
  void fields(Visitor& v) {
    v("name", name, "none, median, asha, hyperband, patience or wilcoxon");
    v("steps_min", steps_min, "no trial is stopped before so many steps; the first rung of asha and hyperband");
    v("steps_max", steps_max, "hyperband: steps of a trial that is not stopped");
    v("factor", factor, "asha, hyperband: one in so many goes on at a rung, to so many times the steps");
    v("startup", startup, "median, wilcoxon: so many trials are complete before one is stopped");
    v("patience", patience, "patience: reports without a gain, after which a trial is stopped");
    v("least_gain", least_gain, "patience: by so much a loss must fall to count as a gain");
    v("p_value", p_value, "wilcoxon: a trial is stopped if it would be as bad by chance this seldom");
  }
};

struct Verdict {
  bool stop = false;
  std::string reason;  // for the trial: "loss 0.7 at step 9: the median of 12 trials is 0.5"
};

class Pruner {
 public:
  virtual ~Pruner() = default;
  /// `trial` is of the history.
  virtual Verdict verdict(const History& history, const Trial& trial) const = 0;
};

/// By the table of pruners/table.cpp. User error that names the key.
std::unique_ptr<Pruner> make_pruner(const PrunerSettings& settings);
std::vector<std::string> pruner_names();

}  // namespace linac::tune
