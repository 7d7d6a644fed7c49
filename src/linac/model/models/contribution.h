#pragma once
// What a replica adds to an update of a network.

#include <bit>
#include <cstdint>
#include <vector>

#include "linac/base/base/aligned.h"

namespace linac::models {

/// Summed over replicas it is the global batch's, but for the statistics, of which the mean counts.
struct Contribution {
  AlignedFloats gradient;         // of the updated network's trainable buffer; empty where it stayed on a GPU
  std::vector<float> statistics;  // this replica's batch means and variances, in the layout of Parameters::statistics
  std::vector<float> losses;      // by the model's own order
  bool all_empty = false;         // every generated image of the replica is empty
  bool finite = true;             // no NaN or Inf in losses, gradient and statistics
  bool stayed_finite = true;      // of a gradient that stayed on a GPU
  uint32_t read = 0;              // digest of the events that it was computed from; 0: nobody asks for it

  void judge() {
    const auto all_finite = [](const auto& values) {
      constexpr uint32_t kExponent = 0x7F800000;
      uint32_t broken = 0;  // no way out of the loop: it is vectorised
      for (const float value : values) broken |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
      return broken == 0;
    };
    finite = stayed_finite && all_finite(losses) && all_finite(gradient) && all_finite(statistics);
  }
};

}  // namespace linac::models
