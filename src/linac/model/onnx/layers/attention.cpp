#include <fmt/format.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/model/graph/calls.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

/// (N, T, F) by (F, H, K) to (N, H, T, K).
std::string project(const LayerCall& call, const std::string& x, size_t kernel, bool biased) {
  Emitter& emit = call.emit;
  const LayerWeight& weight = call.weights[kernel];
  const int64_t heads = weight.shape[1], size = weight.shape[2];
  std::string y =
      emit.op("MatMul", {x, emit.weight(weight.name + "/flat", {weight.shape[0], heads * size}, weight.values)});
  if (biased) {
    const LayerWeight& bias = call.weights[kernel + 1];
    y = emit.op("Add", {y, emit.weight(bias.name + "/flat", {heads * size}, bias.values)});
  }
  return emit.transpose(emit.reshape(y, {0, 0, heads, size}), {0, 2, 1, 3});
}

/// (T, S), true where step t is not before step s.
std::string causal(Emitter& emit, int64_t queries, int64_t keys) {
  std::vector<float> there(static_cast<size_t>(queries * keys));
  for (int64_t t = 0; t < queries; ++t)
    for (int64_t s = 0; s <= std::min(t, keys - 1); ++s) there[static_cast<size_t>(t * keys + s)] = 1;
  return emit.cast(emit.floats({queries, keys}, there), Type::kFloat, Type::kBool);
}

/// (N, 1, T, S), true where step t may see step s; "" if it may everywhere.
std::string visible(const LayerCall& call, int64_t queries, int64_t keys) {
  Emitter& emit = call.emit;
  std::string mask;
  const auto also = [&](const std::string& more) { mask = mask.empty() ? more : emit.op("And", {mask, more}); };
  if (call.masks[0].defined()) also(emit.unsqueeze(call.masks[0].name, {2}));
  if (graph::has_attention_mask(call.node)) {
    throw user_error(fmt::format("[onnx] layer '{}' (MultiHeadAttention): a call with attention_mask cannot be written",
                                 call.node.name));
  }
  for (size_t i = 1; i < call.masks.size(); ++i) {
    if (call.masks[i].defined()) also(emit.unsqueeze(call.masks[i].name, {1}));
  }
  if (graph::flag(call.node, "use_causal_mask", false)) also(emit.unsqueeze(causal(emit, queries, keys), {0}));
  return mask.empty() ? mask : emit.unsqueeze(mask, {1});
}

Value multi_head_attention(const LayerCall& call) {
  Emitter& emit = call.emit;
  const bool biased = graph::flag(call.node, "use_bias", true);
  const size_t stride = biased ? 2 : 1, key = call.inputs.size() > 2 ? 2 : 1;
  const std::string q = project(call, call.x(0), 0, biased), k = project(call, call.x(key), stride, biased),
                    v = project(call, call.x(1), 2 * stride, biased);
  const double key_size = static_cast<double>(call.weights[0].shape[2]);
  const std::string scaled = emit.op("Mul", {q, emit.scalar(1 / std::sqrt(key_size))});
  std::string scores = emit.op("MatMul", {scaled, emit.transpose(k, {0, 1, 3, 2})});
  const std::string mask = visible(call, call.inputs[0].shape[0], call.inputs[key].shape[0]);
  if (!mask.empty()) scores = emit.op("Where", {mask, scores, emit.scalar(-1e9)});
  std::string shares = emit.op("Softmax", {scores}, {{"axis", int64_t{-1}}});
  // A step that sees nothing sees everything alike, in the way Keras takes without dropout and scores; else nothing.
  const bool scores_wanted = graph::flag(call.node, "return_attention_scores", false);
  if (!mask.empty() && (scores_wanted || graph::number(call.node, "dropout", 0) != 0))
    shares = emit.op("Where", {mask, shares, emit.scalar(0)});
  if (scores_wanted) call.more->push_back({shares, call.node.more[0]});
  const LayerWeight& out = call.weights[3 * stride];
  const int64_t inner = out.shape[0] * out.shape[1];
  const std::string heads = emit.reshape(emit.transpose(emit.op("MatMul", {shares, v}), {0, 2, 1, 3}), {0, 0, inner});
  const std::string y = emit.op("MatMul", {heads, emit.weight(out.name + "/flat", {inner, out.shape[2]}, out.values)});
  return call.result(biased ? emit.op("Add", {y, call.weight(3 * stride + 1)}) : y);
}

}  // namespace

std::vector<NamedLayer> attention_layers() {
  return {{"MultiHeadAttention", multi_head_attention}};
}

}  // namespace linac::onnx
