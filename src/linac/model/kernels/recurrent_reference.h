#pragma once
// For tests: recurrent layers as their definition says (recurrent.h), event by event and step by step, in double
// precision, with gradients by the chain rule, unit by unit.

#include <cstdint>
#include <vector>

#include "linac/model/kernels/recurrent.h"

namespace linac::kernels {

using Doubles = std::vector<double>;

struct RecurrentProblem {
  int64_t events;
  std::vector<float> x, kernel, recurrent, bias, out_gradient;
  std::vector<uint8_t> mask;              // empty: all valid
  std::vector<float> x_kept, state_kept;  // RecurrentMultipliers; empty: 1

  bool valid(int64_t row) const { return mask.empty() || mask[static_cast<size_t>(row)] != 0; }
};

struct RecurrentTruth {
  Doubles out, kernel, recurrent, bias, x;  // the output, and gradients
};

/// `kept`: with kBfloat16 the gradients are those of rounded x, states and gates.
RecurrentTruth recurrent_truth(const RecurrentShape& shape, const RecurrentProblem& problem,
                               Storage kept = Storage::kFloat);

}  // namespace linac::kernels
