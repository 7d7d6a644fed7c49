#pragma once
// What graph::TurnedActivation wants of a forward pass. A value; one thread at a time.

#include <ATen/ATen.h>

#include <cstddef>
#include <optional>

#include "linac/base/base/rng.h"

namespace linac::nn {

class TurnedValues {
 public:
  /// Of a pass through so many layers, on the calling thread.
  explicit TurnedValues(size_t layers);

  /// `values` that layer `layer` gives; with a bit turned over in the one whose turn it is.
  void see(size_t layer, at::Tensor& values);

 private:
  std::optional<RngKey> key_;  // nothing: no bit turns over, or it has
  size_t first_ = 0;           // the first one with floats on the host from there on
};

}  // namespace linac::nn
