#pragma once
// Predictions and truth of events as a report of scores.

#include <string>
#include <utility>
#include <vector>

#include "linac/cli/compute/evaluate_arrays.h"
#include "linac/physics/report/scores/report.h"

namespace linac::cli {

struct Judging {
  std::vector<std::string> classes;  // names of the classes, labels or outputs; empty: as the arrays have them
  scores::BootstrapOptions bootstrap;
};

/// User error for names that do not fit, data error for weights that do not, and as the judges of physics/scores/.
report::ScoreReport judge(Judging options, const Arrays& arrays);

}  // namespace linac::cli
