#pragma once
// What a replica adds to an update of a network.

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/base/aligned.h"

namespace linac::models {

/// Summed over replicas it is the global batch's, but for the statistics, of which the mean counts.
struct Contribution {
  AlignedFloats gradient;         // of the updated network's trainable buffer
  std::vector<float> statistics;  // this replica's batch means and variances, in the layout of Parameters::statistics
  std::vector<float> losses;      // by the model's own order
  bool all_empty = false;         // every generated image of the replica is empty
  bool finite = true;             // no NaN or Inf in losses, gradient and statistics

  void judge() {
    const auto all_finite = [](const auto& values) {
      return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
    };
    finite = all_finite(losses) && all_finite(gradient) && all_finite(statistics);
  }
};

}  // namespace linac::models
