#include "linac/model/nn/folded_norm.h"

namespace linac::nn {
namespace {

bool has_bias(const graph::Node& convolution) {
  return convolution.attributes.value("use_bias", true);
}

}  // namespace

graph::Node with_norm(const graph::Node& convolution, const graph::Node& norm) {
  graph::Node whole = convolution;
  whole.attributes["use_bias"] = true;
  if (norm.attributes.contains("fused_negative_slope"))
    whole.attributes["fused_negative_slope"] = norm.attributes["fused_negative_slope"];
  return whole;
}

std::vector<at::Tensor> weights_with_norm(const graph::Node& convolution, const std::vector<at::Tensor>& weights,
                                          const graph::Node& norm, const std::vector<at::Tensor>& norm_weights) {
  size_t next = 0;
  const at::Tensor gamma = norm.attributes.value("scale", true) ? norm_weights[next++] : at::Tensor();
  const at::Tensor beta = norm.attributes.value("center", true) ? norm_weights[next++] : at::Tensor();
  const at::Tensor &mean = norm_weights[next], &variance = norm_weights[next + 1];
  at::Tensor scale = at::rsqrt(variance + norm.attributes.value("epsilon", 1e-3));
  if (gamma.defined()) scale = scale * gamma;
  const bool biased = has_bias(convolution);
  std::vector<at::Tensor> folded(weights.begin(), weights.end() - (biased ? 1 : 0));
  folded.back() = folded.back() * scale;
  const at::Tensor shift = (biased ? weights.back() - mean : -mean) * scale;
  folded.push_back(beta.defined() ? shift + beta : shift);
  return folded;
}

}  // namespace linac::nn
