#pragma once
// Convolutions of images by linac's own kernels for plain images (model/kernels/plain_conv.h,
// model/kernels/winograd_conv.h), as nodes of autograd, with the activation and the max pooling behind them. As many
// threads as LibTorch's; the bits do not depend on their number. Thread-safe.

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

#include "linac/model/kernels/plain_conv.h"

namespace linac::nn {

struct PlainConv {
  kernels::PlainConvShape shape;
  double negative_slope = 1;    // what multiplies results below 0
  std::vector<int64_t> window;  // of a max pooling, side by side; empty for none
};

/// Whether one of the methods takes it. Follows from the shape alone.
bool takes_plain_conv(const kernels::PlainConvShape& shape);

/// x (N, y, x, in) and kernel (y, x, in, out), float on the CPU; `bias` may be undefined. (N, y, x, out), pooled.
/// Gradients of gradients are an internal error.
at::Tensor plain_conv(const PlainConv& what, const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias);

/// Each channel by itself (kernels::depthwise_takes): x (N, y, x, channels), kernel (3, 3, channels, 1).
at::Tensor plain_depthwise(const kernels::PlainConvShape& shape, const at::Tensor& x, const at::Tensor& kernel);

/// plain_conv of a separable one (kernels::separable_takes), for which nobody wants gradients: `depthwise` (3, 3, in,
/// 1), `pointwise` (1, 1, in, out).
at::Tensor plain_separable(const PlainConv& what, const at::Tensor& x, const at::Tensor& depthwise,
                           const at::Tensor& pointwise, const at::Tensor& bias);

}  // namespace linac::nn
