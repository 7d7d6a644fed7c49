#pragma once
// Batch normalisation in training, differentiable, through linac's own kernels (kernels/batch_norm.h): LibTorch adds
// the millions of values of a channel in plain float when channels are last. On a GPU LibTorch's: its sums are trees
// there. Thread-safe; the calling thread does all the work.

#include <ATen/ATen.h>

#include <vector>

namespace linac::nn {

/// What the batch gave, by channel: mean and biased variance.
struct BatchMoments {
  std::vector<double> mean, variance;
};

/// x_NCXYZ with any strides; gamma and beta (C) may be undefined (1 and 0). Returns NCXYZ with strides of channels
/// last; fills `moments`.
at::Tensor batch_norm_training(const at::Tensor& x_NCXYZ, const at::Tensor& gamma, const at::Tensor& beta,
                               double epsilon, BatchMoments& moments);

}  // namespace linac::nn
