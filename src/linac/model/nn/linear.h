#pragma once
// Products with a matrix of weights, the bias and the activation behind them in one pass: by linac's own kernels
// (model/kernels/matrix_kernels.h) or by LibTorch. As many threads as LibTorch's; the bits of linac's own do not depend
// on their number, nor a row's on the other rows. Thread-safe.

#include <ATen/ATen.h>

#include "linac/model/nn/executable.h"

namespace linac::nn {

/// y = x weight + bias, results below 0 multiplied by `negative_slope` >= 0. x (..., in), weight (in, out); `bias`
/// (out) may be undefined. linac's kernels take floats on the CPU and outs that are multiples of 16; gradients of
/// gradients are an internal error there.
at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, Kernels kernels,
                  double negative_slope = 1);

}  // namespace linac::nn
