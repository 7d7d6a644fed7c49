#include <cmath>

#include "linac/nn/dropout.h"
#include "linac/nn/layers/families.h"

namespace linac::nn {
namespace {

/// (N, T, F) by (F, H, K) to (N, H, T, K).
at::Tensor project(const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias) {
  const at::Tensor product = at::einsum("ntf,fhk->nthk", {x, kernel});
  return (bias.defined() ? product + bias : product).transpose(1, 2);
}

/// (N, 1, T, S), true where step t may see step s; undefined if it may everywhere.
at::Tensor visible(const LayerCall& call, int64_t queries, int64_t keys) {
  at::Tensor mask;
  const auto also = [&](const at::Tensor& more) { mask = mask.defined() ? at::logical_and(mask, more) : more; };
  if (call.masks[0].defined()) also(call.masks[0].unsqueeze(-1));
  for (size_t i = 1; i < call.masks.size(); ++i) {
    if (call.masks[i].defined()) also(call.masks[i].unsqueeze(-2));
  }
  if (call.node.attributes.value("use_causal_mask", false))
    also(at::ones({queries, keys}, call.x().options().dtype(at::kBool)).tril().unsqueeze(0));
  return mask.defined() ? mask.unsqueeze(1) : mask;
}

double dropout_of(const LayerCall& call) {
  return call.node.attributes.value("dropout", 0.0);
}

bool returns_scores(const LayerCall& call) {
  return call.node.attributes.value("return_attention_scores", false);
}

/// Single shares, (N, H, T, S): what is left of an event's does not add up to 1, as in Keras.
at::Tensor dropped(const LayerCall& call, const at::Tensor& shares) {
  if (!call.training() || dropout_of(call) == 0) return shares;
  const at::Tensor kept =
      draw_kept(call.dropout_key, dropout_of(call), shares.size(0), shares[0].numel()).view(shares.sizes());
  if (call.options.dropout_masks != nullptr) call.options.dropout_masks->push_back(kept);
  return shares * kept.to(shares.device());
}

at::Tensor multi_head_attention(const LayerCall& call) {
  const at::Tensor &query = call.inputs[0], &value = call.inputs[1],
                   &key = call.inputs.size() > 2 ? call.inputs[2] : value;
  const bool biased = call.node.attributes.value("use_bias", true);
  const size_t stride = biased ? 2 : 1;
  const auto weight = [&](size_t part) { return call.weights[part * stride]; };
  const auto bias = [&](size_t part) { return biased ? call.weights[part * stride + 1] : at::Tensor(); };
  const at::Tensor q = project(query, weight(0), bias(0)), k = project(key, weight(1), bias(1)),
                   v = project(value, weight(2), bias(2));
  at::Tensor scores = at::matmul(q * (1 / std::sqrt(static_cast<double>(q.size(-1)))), k.transpose(-1, -2));
  const at::Tensor mask = visible(call, query.size(1), key.size(1));
  at::Tensor shares;
  if (mask.defined()) {
    const at::Tensor hidden = at::logical_not(mask);
    shares = at::softmax(scores.masked_fill(hidden, -1e9), -1);
    // A step that sees nothing sees everything alike, in the way Keras takes without dropout and scores; else nothing.
    if (dropout_of(call) != 0 || returns_scores(call)) shares = shares.masked_fill(hidden, 0);
  } else {
    shares = at::softmax(scores, -1);
  }
  if (call.more != nullptr) *call.more = {shares};
  shares = dropped(call, shares);
  const at::Tensor y = at::einsum("nhtk,hko->nto", {at::matmul(shares, v), weight(3)});
  return biased ? y + bias(3) : y;
}

}  // namespace

std::vector<NamedLayer> attention_layers() {
  return {{"MultiHeadAttention", multi_head_attention}};
}

}  // namespace linac::nn
