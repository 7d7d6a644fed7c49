#pragma once
// The pruners behind the table (table.cpp), a file each, and what they share.

#include <limits>
#include <memory>

#include "linac/control/tune/pruner.h"

namespace linac::tune {

std::unique_ptr<Pruner> make_median(const PrunerSettings& settings);
std::unique_ptr<Pruner> make_asha(const PrunerSettings& settings);
std::unique_ptr<Pruner> make_hyperband(const PrunerSettings& settings);
std::unique_ptr<Pruner> make_patience(const PrunerSettings& settings);
std::unique_ptr<Pruner> make_wilcoxon(const PrunerSettings& settings);

/// The last loss at or before a step; none: NaN.
inline double loss_at(const Trial& trial, int64_t step) {
  double loss = std::numeric_limits<double>::quiet_NaN();
  for (const auto& [reported, value] : trial.curve)
    if (reported <= step) loss = value;
  return loss;
}
/// The least loss at or before a step; none: infinity.
inline double best_at(const Trial& trial, int64_t step) {
  double best = std::numeric_limits<double>::infinity();
  for (const auto& [reported, value] : trial.curve)
    if (reported <= step && value < best) best = value;
  return best;
}
/// The trial has come so far.
inline bool reached(const Trial& trial, int64_t step) {
  return !trial.curve.empty() && trial.curve.back().first >= step;
}

}  // namespace linac::tune
