#pragma once
// Convolutions of images by linac's own kernels for plain images (kernels/winograd_conv.h), as nodes of autograd, with
// the activation and the max pooling behind them. LibTorch's threads; the bits do not depend on their number.
// Thread-safe.

#include <ATen/ATen.h>

#include <cstdint>

#include "linac/kernels/winograd_conv.h"

namespace linac::nn {

struct PlainConv {
  kernels::PlainConvShape shape;
  double negative_slope = 1;  // what multiplies results below 0
  bool pooled = false;        // the largest of each 2 x 2 cells, side by side
};

/// x (N, y, x, in) and kernel (3, 3, in, out), float on the CPU; `bias` may be undefined. (N, y, x, out). Gradients of
/// gradients are an internal error.
at::Tensor plain_conv(const PlainConv& what, const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias);

}  // namespace linac::nn
