#include <map>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

using Function = at::Tensor (*)(const at::Tensor&);

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table{
      {"linear", [](const at::Tensor& x) { return x; }},
      {"relu", [](const at::Tensor& x) { return at::relu(x); }},
      {"sigmoid", [](const at::Tensor& x) { return at::sigmoid(x); }},
      {"tanh", [](const at::Tensor& x) { return at::tanh(x); }},
      {"softmax", [](const at::Tensor& x) { return at::softmax(x, -1); }},
      {"log_softmax", [](const at::Tensor& x) { return at::log_softmax(x, -1); }},
      {"elu", [](const at::Tensor& x) { return at::elu(x); }},
      {"selu", [](const at::Tensor& x) { return at::selu(x); }},
      {"celu", [](const at::Tensor& x) { return at::celu(x); }},
      {"softplus", [](const at::Tensor& x) { return at::softplus(x); }},
      {"softsign", [](const at::Tensor& x) { return x / (1 + at::abs(x)); }},
      {"gelu", [](const at::Tensor& x) { return at::gelu(x); }},
      {"silu", [](const at::Tensor& x) { return at::silu(x); }},
      {"swish", [](const at::Tensor& x) { return at::silu(x); }},
      {"mish", [](const at::Tensor& x) { return at::mish(x); }},
      {"hard_sigmoid", [](const at::Tensor& x) { return at::hardsigmoid(x); }},
      {"keras2_hard_sigmoid", [](const at::Tensor& x) { return at::clamp(0.2 * x + 0.5, 0, 1); }},
      {"hard_silu", [](const at::Tensor& x) { return at::hardswish(x); }},
      {"hard_swish", [](const at::Tensor& x) { return at::hardswish(x); }},
      {"hard_tanh", [](const at::Tensor& x) { return at::hardtanh(x); }},
      {"exponential", [](const at::Tensor& x) { return at::exp(x); }},
      {"leaky_relu", [](const at::Tensor& x) { return at::leaky_relu(x, 0.2); }},
      {"relu6", [](const at::Tensor& x) { return at::clamp(x, 0, 6); }},
      {"log_sigmoid", [](const at::Tensor& x) { return at::log_sigmoid(x); }},
      {"tanh_shrink", [](const at::Tensor& x) { return x - at::tanh(x); }},
      {"soft_shrink", [](const at::Tensor& x) { return at::softshrink(x); }},
      {"hard_shrink", [](const at::Tensor& x) { return at::hardshrink(x); }},
  };
  return table;
}

at::Tensor activation(const LayerCall& call) {
  return activate(call.node, call.x());
}

// Between the threshold and the largest value the identity, below it a line through the threshold.
at::Tensor relu(const LayerCall& call) {
  const double slope = call.node.attributes.value("negative_slope", 0.0),
               threshold = call.node.attributes.value("threshold", 0.0);
  const at::Tensor& x = call.x();
  const at::Tensor above = call.node.attributes.contains("max_value")
                               ? at::clamp_max(x, call.node.attributes.at("max_value").get<double>())
                               : x;
  return at::where(x > threshold, above, slope * (x - threshold));
}

at::Tensor leaky_relu(const LayerCall& call) {
  return at::leaky_relu(call.x(), call.node.attributes.value("negative_slope", 0.3));
}

at::Tensor prelu(const LayerCall& call) {
  return at::relu(call.x()) - call.weights[0] * at::relu(-call.x());
}

at::Tensor elu(const LayerCall& call) {
  return at::elu(call.x(), call.node.attributes.value("alpha", 1.0));
}

// A mask hides elements of the last axes, as Keras broadcasts it.
at::Tensor softmax(const LayerCall& call) {
  const auto rank = static_cast<size_t>(call.x().dim() - 1);
  const auto dim = static_cast<int64_t>(graph::axes_of(call.node, "axis", rank, -1)[0]) + 1;
  if (!call.mask().defined()) return at::softmax(call.x(), dim);
  const at::Tensor hidden = at::logical_not(call.mask());
  return at::softmax(call.x().masked_fill(hidden, -1e9), dim).masked_fill(hidden, 0);
}

}  // namespace

at::Tensor activate(const std::string& name, const at::Tensor& x) {
  const auto found = functions().find(name);
  LINAC_CHECK(found != functions().end());
  return found->second(x);
}

at::Tensor activate(const graph::Node& node, const at::Tensor& x) {
  return activate(node.attributes.value("activation", "linear"), x);
}

double fused_negative_slope(const graph::Node& node) {
  return node.attributes.value("fused_negative_slope", 1.0);
}

at::Tensor fused_activation(const graph::Node& node, at::Tensor x) {
  const double slope = fused_negative_slope(node);
  if (slope == 1) return x;
  return slope == 0 ? x.relu_() : at::leaky_relu_(x, slope);
}

std::vector<NamedLayer> activation_layers() {
  return {{"Activation", activation}, {"ReLU", relu}, {"LeakyReLU", leaky_relu},
          {"PReLU", prelu},           {"ELU", elu},   {"Softmax", softmax}};
}

}  // namespace linac::nn
