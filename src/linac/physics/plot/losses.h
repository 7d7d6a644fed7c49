#pragma once
// How losses and metrics went, epoch by epoch. Thread-safe.

#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"

namespace linac::plot {

/// One value an epoch, from the first; NaN where there is none. Either may be empty.
struct LossLine {
  std::string label;  // empty if it is the only one of its chart
  std::vector<double> train, test;
};

struct LossChart {
  std::string title;          // "generator", "accuracy"
  std::string axis = "loss";  // what its values are; empty: what the title says
  std::vector<LossLine> lines;
};

/// The charts side by side, two in a row; whole lines in training, dashed in tests. Logarithmic where the largest
/// value is more than three times the smallest, else close around the values: what changes is to be seen.
Picture draw_losses(const std::string& title, const std::vector<LossChart>& charts);

}  // namespace linac::plot
