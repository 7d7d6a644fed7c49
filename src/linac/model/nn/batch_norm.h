#pragma once
// Batch normalisation in training, differentiable, through linac's own kernels (model/kernels/batch_norm.h): LibTorch
// adds the millions of values of a channel in plain float when channels are last. On a GPU LibTorch's: its sums are
// trees there. Thread-safe; the calling thread does all the work.

#include <ATen/ATen.h>

#include <vector>

#include "linac/model/graph/split/part_link.h"

namespace linac::nn {

/// What the batch gave, by channel: mean and biased variance.
struct BatchMoments {
  std::vector<double> mean, variance;
};

/// What the moments are not.
struct BatchNormLayer {
  at::Tensor gamma, beta;  // (C), undefined for 1 and 0
  double epsilon = 1e-3;
  double negative_slope = 1;         // of the activation behind it: 0 for relu, 1 for none
  graph::PartLink* parts = nullptr;  // the batch's moments are those of the images of all of them; on the CPU
};

/// x_NCXYZ with any strides. Returns NCXYZ with strides of channels last; fills `moments`. With parts collective, the
/// way back too.
at::Tensor batch_norm_training(const at::Tensor& x_NCXYZ, const BatchNormLayer& layer, BatchMoments& moments);

}  // namespace linac::nn
