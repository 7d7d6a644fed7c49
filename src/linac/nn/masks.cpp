#include <algorithm>
#include <set>

#include "linac/nn/layers/families.h"

namespace linac::nn {
namespace {

/// Classes that hand on the mask of their input as it is. What is in no list drops it, as Keras does (with a warning).
bool hands_on(const std::string& op) {
  static const std::set<std::string> classes{"Activation",
                                             "ReLU",
                                             "LeakyReLU",
                                             "PReLU",
                                             "ELU",
                                             "Softmax",
                                             "Dense",
                                             "Dropout",
                                             "GaussianDropout",
                                             "AlphaDropout",
                                             "GaussianNoise",
                                             "SpatialDropout1D",
                                             "SpatialDropout2D",
                                             "SpatialDropout3D",
                                             "Rescaling",
                                             "BatchNormalization",
                                             "LayerNormalization",
                                             "GroupNormalization",
                                             "UnitNormalization",
                                             "Normalization",
                                             "TimeDistributed",
                                             "MultiHeadAttention"};
  return classes.contains(op);
}

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

bool returns_sequences(const nlohmann::json& attributes) {
  return attributes.value("return_sequences", false);
}

}  // namespace

at::Tensor output_mask(const LayerCall& call) {
  const std::string& op = call.node.op;
  if (op == "Masking") return at::any(call.x() != call.node.attributes.value("mask_value", 0.0), -1);
  if (op == "Embedding") return call.node.attributes.value("mask_zero", false) ? call.x() != 0 : at::Tensor();
  if (op == "GRU" || op == "LSTM" || op == "SimpleRNN")
    return returns_sequences(call.node.attributes) ? call.mask() : at::Tensor();
  if (op == "Bidirectional")
    return returns_sequences(call.node.attributes.at("layer").at("attributes")) ? call.mask() : at::Tensor();
  if (op == "Concatenate") return mask_of_concatenation(call);
  if (op == "Add" || op == "Subtract" || op == "Multiply" || op == "Average" || op == "Maximum" || op == "Minimum")
    return any_of(call.masks);
  // One with fewer axes than its mask has no steps any more.
  const auto axes = static_cast<int64_t>(call.node.output.size()) + 1;
  return hands_on(op) && call.mask().defined() && call.mask().dim() <= axes ? call.mask() : at::Tensor();
}

}  // namespace linac::nn
