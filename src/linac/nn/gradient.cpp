#include "linac/nn/gradient.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace linac::nn {

AlignedFloats flat_gradient(const at::Tensor& loss, const Weights& weights, const graph::Layout& layout) {
  const auto gradients =
      torch::autograd::grad({loss}, weights.trainable, {}, /*retain_graph=*/false, /*create_graph=*/false,
                            /*allow_unused=*/true);
  AlignedFloats flat(static_cast<size_t>(layout.total), 0.0F);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!gradients[i].defined()) continue;  // the loss does not depend on this weight
    const at::Tensor gradient = gradients[i].to(at::kCPU).contiguous();
    std::copy_n(gradient.const_data_ptr<float>(), layout.slots[i].size, flat.begin() + layout.slots[i].offset);
  }
  return flat;
}

}  // namespace linac::nn
