#pragma once
// Max pooling with the bias and the activation that stood before it, differentiable, by linac's own kernel
// (model/kernels/max_pool.h). On the CPU. Thread-safe; uses the number of threads LibTorch is set to, and no bit
// depends on it.

#include <ATen/ATen.h>

#include <vector>

namespace linac::nn {

/// act(x + bias) pooled: x is (N, cells..., C) of one to three axes of cells, `bias` (C) or undefined, results below 0
/// are multiplied by `slope` >= 0. `window` has a size for each axis. Returns (N, cells..., C), dense.
at::Tensor max_pool_activated(const at::Tensor& x, const at::Tensor& bias, double slope,
                              const std::vector<int64_t>& window);

}  // namespace linac::nn
