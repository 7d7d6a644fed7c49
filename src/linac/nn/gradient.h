#pragma once
// From autograd's tensors to the one buffer that optimisers and workers know. Thread-safe.

#include "linac/graph/gradient_ready.h"
#include "linac/nn/executable.h"

namespace linac::nn {

/// Gradient of a scalar with respect to all trainable weights, in the layout of the trainable buffer (gaps are 0).
/// `ready` is told of each weight once.
AlignedFloats flat_gradient(const at::Tensor& loss, const Weights& weights, const graph::Layout& layout,
                            const graph::GradientReady& ready = {});

}  // namespace linac::nn
