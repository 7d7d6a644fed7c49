#include <cmath>

#include "linac/model/graph/calls.h"
#include "linac/model/nn/dropout.h"
#include "linac/model/nn/layers/families.h"
#include "linac/model/nn/linear.h"

namespace linac::nn {
namespace {

/// What a step asks, offers and says: (N, H, T or S, K or V) each.
struct Heads {
  at::Tensor query, key, value;
};

/// A kernel (F, H, K) with its bias (H, K), which may be undefined.
struct Projection {
  at::Tensor kernel, bias;

  at::Tensor heads(const at::Tensor& product) const {
    return product.unflatten(-1, {kernel.size(1), kernel.size(2)}).transpose(1, 2);
  }
  /// (N, T, F) to (N, H, T, K).
  at::Tensor apply(const at::Tensor& x, Kernels kernels) const {
    return heads(linear(x, kernel.flatten(1), bias.defined() ? bias.flatten() : bias, kernels));
  }
};

/// Query, value and perhaps a key.
size_t sequences_of(const LayerCall& call) {
  return call.inputs.size() - (graph::has_attention_mask(call.node) ? 1 : 0);
}

Heads project(const LayerCall& call, const std::vector<Projection>& by) {
  const at::Tensor &query = call.inputs[0], &value = call.inputs[1],
                   &key = sequences_of(call) > 2 ? call.inputs[2] : value;
  if (!query.is_same(key) || !query.is_same(value))
    return {by[0].apply(query, call.kernels), by[1].apply(key, call.kernels), by[2].apply(value, call.kernels)};
  // Of one input: one product in place of three.
  std::vector<at::Tensor> kernels, biases;
  std::vector<int64_t> columns;
  for (const Projection& one : by) {
    kernels.push_back(one.kernel.flatten(1));
    columns.push_back(kernels.back().size(1));
    if (one.bias.defined()) biases.push_back(one.bias.flatten());
  }
  const at::Tensor product =
      linear(query, at::cat(kernels, 1), biases.empty() ? at::Tensor() : at::cat(biases), call.kernels);
  const std::vector<at::Tensor> parts = product.split_with_sizes(columns, -1);
  return {by[0].heads(parts[0]), by[1].heads(parts[1]), by[2].heads(parts[2])};
}

/// (N, 1, T, S), true where step t may see step s; undefined if it may everywhere.
at::Tensor visible(const LayerCall& call, int64_t queries, int64_t keys) {
  at::Tensor mask;
  const auto also = [&](const at::Tensor& more) { mask = mask.defined() ? at::logical_and(mask, more) : more; };
  if (call.masks[0].defined()) also(call.masks[0].unsqueeze(-1));
  for (size_t i = 1; i < sequences_of(call); ++i) {
    if (call.masks[i].defined()) also(call.masks[i].unsqueeze(-2));
  }
  if (graph::has_attention_mask(call.node)) also(call.inputs.back() != 0);
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

/// What the steps say, by how much each is asked of: (N, H, T, V).
at::Tensor attend(const LayerCall& call, const Heads& heads) {
  const at::Tensor mask = visible(call, heads.query.size(2), heads.key.size(2));
  const double scale = 1 / std::sqrt(static_cast<double>(heads.query.size(-1)));
  if (!mask.defined() && call.more == nullptr && (!call.training() || dropout_of(call) == 0))
    return at::scaled_dot_product_attention(heads.query, heads.key, heads.value, {}, 0, false, scale);
  const at::Tensor scores = at::matmul(heads.query * scale, heads.key.transpose(-1, -2));
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
  return at::matmul(dropped(call, shares), heads.value);
}

at::Tensor multi_head_attention(const LayerCall& call) {
  const bool biased = call.node.attributes.value("use_bias", true);
  const size_t stride = biased ? 2 : 1;
  std::vector<Projection> by;
  for (size_t part = 0; part < 4; ++part)
    by.push_back({call.weights[part * stride], biased ? call.weights[part * stride + 1] : at::Tensor()});
  const at::Tensor said = attend(call, project(call, {by.begin(), by.begin() + 3})).transpose(1, 2).flatten(2);
  return linear(said, by[3].kernel.flatten(0, 1), by[3].bias, call.kernels);
}

}  // namespace

std::vector<NamedLayer> attention_layers() {
  return {{"MultiHeadAttention", multi_head_attention}};
}

}  // namespace linac::nn
