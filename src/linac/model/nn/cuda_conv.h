#pragma once
// linac's convolutions on a GPU (model/kernels/cuda) as nodes of LibTorch's autograd. Thread-safe; asynchronous, on the
// current stream of the tensors' device.
//
// x_NCXYZ and kernel (Keras's axes: kx, ky, kz, in, out) on one GPU; `bias` may be undefined. `slope` multiplies
// negative results: 1 for none, 0 for relu. Results are NCXYZ with strides of channels last.

#include <ATen/ATen.h>

#include <array>

namespace linac::nn {

using Padding3 = std::array<std::array<int64_t, 2>, 3>;  // before and behind each axis

/// Whether cuda_conv3d can compute it: few channels, tensors of float on a GPU.
bool cuda_conv3d_possible(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const Padding3& padding);
at::Tensor cuda_conv3d(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const at::Tensor& bias,
                       const Padding3& padding, double slope);

/// The same for a convolution without padding of the image after nearest up-sampling by `up`.
bool cuda_upsample_conv3d_possible(const at::Tensor& x_NCXYZ, const at::Tensor& kernel,
                                   const std::array<int64_t, 3>& up);
at::Tensor cuda_upsample_conv3d(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const at::Tensor& bias,
                                const std::array<int64_t, 3>& up, double slope);

}  // namespace linac::nn
