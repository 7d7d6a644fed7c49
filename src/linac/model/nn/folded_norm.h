#pragma once
// A convolution that does the work of the batch normalisation behind it (model/graph/passes/fold_norms.h), where its
// moments are fixed. Differentiable, as everything here is made of LibTorch's operations. Thread-safe.

#include <ATen/ATen.h>

#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::nn {

/// The convolution with a bias, and what was fused behind `norm`.
graph::Node with_norm(const graph::Node& convolution, const graph::Node& norm);

/// Its weights: kernels scaled, biases shifted, by channel.
std::vector<at::Tensor> weights_with_norm(const graph::Node& convolution, const std::vector<at::Tensor>& weights,
                                          const graph::Node& norm, const std::vector<at::Tensor>& norm_weights);

}  // namespace linac::nn
