#pragma once
// From autograd's tensors to the one buffer that optimisers and workers know. Thread-safe.

#include "linac/model/graph/gradient_ready.h"
#include "linac/model/nn/executable.h"

namespace linac::nn {

/// Gradient of a scalar with respect to all trainable weights, in the layout of the trainable buffer (gaps are 0).
/// `ready` is told of each weight once. With `finite`, on a GPU whose place says that gradients stay there
/// (model/graph/place.h), `ready` is told of values in the GPU's memory, the result is empty, and `finite` says whether
/// all of them are; else it stays as it is.
AlignedFloats flat_gradient(const at::Tensor& loss, const Weights& weights, const graph::Layout& layout,
                            const graph::GradientReady& ready = {}, bool* finite = nullptr);

}  // namespace linac::nn
