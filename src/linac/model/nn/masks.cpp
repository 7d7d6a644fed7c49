#include "linac/model/graph/masks.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

/// A step of the sum counts if it does in one of the inputs, and all have a mask.
at::Tensor any_of(const std::vector<at::Tensor>& masks) {
  at::Tensor result = masks[0];
  for (const at::Tensor& mask : masks) {
    if (!mask.defined()) return {};
    result = at::logical_or(result, mask);
  }
  return result;
}

at::Tensor mask_of_concatenation(const LayerCall& call) {
  const auto defined = [](const at::Tensor& mask) { return mask.defined(); };
  if (std::none_of(call.masks.begin(), call.masks.end(), defined)) return {};
  std::vector<at::Tensor> masks;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const at::Tensor& x = call.inputs[i];
    const at::Tensor all = at::ones(x.sizes(), x.options().dtype(at::kBool));
    masks.push_back(call.masks[i].defined() ? at::logical_and(all, expand_mask(call.masks[i], x)) : all);
  }
  return at::any(at::cat(masks, joined_axis(call)), -1);
}

}  // namespace

// One pass over the memory where LibTorch takes several.
at::Tensor steps_unlike(const at::Tensor& x, float value) {
  if (!x.device().is_cpu() || x.scalar_type() != at::kFloat) return at::any(x != value, -1);
  const at::Tensor dense = x.detach().contiguous();
  const auto shape = dense.sizes().slice(0, static_cast<size_t>(dense.dim() - 1));
  const at::Tensor mask = at::empty(shape, at::kBool);
  const float* features = dense.const_data_ptr<float>();
  bool* const unlike = mask.mutable_data_ptr<bool>();
  const int64_t width = dense.size(-1);
  // Most steps are padding, which is of the same bytes. A zero of the other sign is not, nor is a NaN like itself.
  const std::vector<float> padding(static_cast<size_t>(width), value);
  const size_t bytes = sizeof(float) * padding.size();
  const bool like_itself = value == value;
  for (int64_t step = 0; step < mask.numel(); ++step, features += width) {
    unlike[step] = !(like_itself && std::memcmp(features, padding.data(), bytes) == 0) &&
                   std::any_of(features, features + width, [value](float feature) { return feature != value; });
  }
  return mask;
}

at::Tensor output_mask(const LayerCall& call) {
  switch (graph::mask_rule(call.node)) {
    case graph::MaskRule::kDrops:
      return {};
    case graph::MaskRule::kMakes:
      return call.node.op == "Embedding" ? call.x() != 0
                                         : steps_unlike(call.x(), call.node.attributes.value("mask_value", 0.0F));
    case graph::MaskRule::kHandsOn: {
      // One with fewer axes than its mask has no steps any more.
      const auto axes = static_cast<int64_t>(call.node.output.size()) + 1;
      return call.mask().defined() && call.mask().dim() <= axes ? call.mask() : at::Tensor();
    }
    case graph::MaskRule::kJoins:
      return any_of(call.masks);
    case graph::MaskRule::kConcatenates:
      return mask_of_concatenation(call);
  }
  LINAC_CHECK(false);
}

}  // namespace linac::nn
