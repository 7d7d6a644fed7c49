#pragma once
// 3-D convolution through linac's own kernels (kernels/conv3d.h), differentiable by LibTorch's autograd: the way for
// batches that fill blocks of 16 events. The backward pass computes only the gradients that are asked for.
// Thread-safe; each call, forward and backward, runs on the calling thread alone. Float, CPU.

#include <ATen/ATen.h>

#include <array>

namespace linac::nn {

/// x_NCXYZ, fastest with strides of channels last; kernel in Keras's axes (kx, ky, kz, in, out); `bias` (out) may be
/// undefined; `padding`: zeros {before, behind} the axes x, y, z. Returns NCXYZ with strides of channels last.
at::Tensor direct_conv3d(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const at::Tensor& bias,
                         const std::array<std::array<int64_t, 2>, 3>& padding);

/// Whether this many events waste little of the last block of 16: at most a quarter of the work.
bool direct_conv3d_pays(int64_t events);

}  // namespace linac::nn
