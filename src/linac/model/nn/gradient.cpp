#include "linac/model/nn/gradient.h"

#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <utility>

#include "linac/base/base/trace.h"
#include "linac/model/graph/backward_time.h"
#include "linac/model/graph/place.h"

namespace linac::nn {
namespace {

// What autograd has computed of a weight, in Keras's axes. Not defined: the loss does not depend on this weight.
at::Tensor dense_on_gpu(const at::Tensor& gradient, const at::Tensor& weight) {
  const at::Tensor dense = gradient.defined() ? gradient.detach().contiguous() : at::zeros_like(weight.detach());
  c10::impl::VirtualGuardImpl(at::kCUDA).getStream(dense.device()).synchronize();
  return dense;
}

}  // namespace

AlignedFloats flat_gradient(const at::Tensor& loss, const Weights& weights, const graph::Layout& layout,
                            const graph::GradientReady& ready, bool* finite) {
  const graph::BackwardTime time;
  const trace::Span span("backward");
  int64_t last_ns = trace::recording ? trace::now_ns() : 0;
  const bool stays = finite != nullptr && ready && graph::current_place().gradients_stay &&
                     !weights.trainable.empty() && weights.trainable[0].is_cuda();
  std::vector<at::Tensor> all_finite;  // by weight, of those that stay on the GPU
  AlignedFloats flat(stays ? 0 : static_cast<size_t>(layout.total), 0.0F);
  std::vector<bool> taken(weights.trainable.size());
  // Not defined: the loss does not depend on this weight.
  const auto take = [&](size_t i, const at::Tensor& gradient) {
    if (taken[i]) return;
    taken[i] = true;
    if (stays) {
      const at::Tensor dense = dense_on_gpu(gradient, weights.trainable[i]);
      all_finite.push_back(at::isfinite(dense).all());
      return ready(layout.slots[i].offset, {dense.const_data_ptr<float>(), static_cast<size_t>(dense.numel())});
    }
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
      hooks.push_back(weights.trainable[i].register_hook([&, i](const at::Tensor& gradient) {
        take(i, gradient);
        if (!trace::recording) return;
        const int64_t now_ns = trace::now_ns();
        trace::add("gradient of " + layout.slots[i].name, std::exchange(last_ns, now_ns), now_ns);
      }));
    }
  }
  const auto gradients =
      torch::autograd::grad({loss}, weights.trainable, {}, /*retain_graph=*/false, /*create_graph=*/false,
                            /*allow_unused=*/true);
  for (size_t i = 0; i < hooks.size(); ++i) weights.trainable[i].remove_hook(hooks[i]);
  for (size_t i = 0; i < gradients.size(); ++i) take(i, gradients[i]);
  if (stays) *finite = at::stack(all_finite).all().item<bool>();
  return flat;
}

}  // namespace linac::nn
