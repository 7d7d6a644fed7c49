#include "linac/nn/gradient.h"

#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

namespace linac::nn {

AlignedFloats flat_gradient(const at::Tensor& loss, const Weights& weights, const graph::Layout& layout,
                            const graph::GradientReady& ready) {
  AlignedFloats flat(static_cast<size_t>(layout.total), 0.0F);
  std::vector<bool> taken(weights.trainable.size());
  // Not defined: the loss does not depend on this weight.
  const auto take = [&](size_t i, const at::Tensor& gradient) {
    if (taken[i]) return;
    taken[i] = true;
    const auto values =
        std::span(flat).subspan(static_cast<size_t>(layout.slots[i].offset), static_cast<size_t>(layout.slots[i].size));
    if (gradient.defined()) {
      const at::Tensor plain = gradient.detach().to(at::kCPU).contiguous();
      std::copy_n(plain.const_data_ptr<float>(), values.size(), values.begin());
    }
    if (ready) ready(layout.slots[i].offset, values);
  };
  std::vector<unsigned> hooks;
  if (ready) {
    for (size_t i = 0; i < weights.trainable.size(); ++i) {
      hooks.push_back(
          weights.trainable[i].register_hook([&take, i](const at::Tensor& gradient) { take(i, gradient); }));
    }
  }
  const auto gradients =
      torch::autograd::grad({loss}, weights.trainable, {}, /*retain_graph=*/false, /*create_graph=*/false,
                            /*allow_unused=*/true);
  for (size_t i = 0; i < hooks.size(); ++i) weights.trainable[i].remove_hook(hooks[i]);
  for (size_t i = 0; i < gradients.size(); ++i) take(i, gradients[i]);
  return flat;
}

}  // namespace linac::nn
