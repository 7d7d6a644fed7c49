#pragma once
// From autograd's tensors to the one buffer that optimisers and workers know. Thread-safe.

#include "linac/nn/executable.h"

namespace linac::nn {

/// Gradient of a scalar with respect to all trainable weights, in the layout of the trainable buffer (gaps are 0).
AlignedFloats flat_gradient(const at::Tensor& loss, const Weights& weights, const graph::Layout& layout);

}  // namespace linac::nn
