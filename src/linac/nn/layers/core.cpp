#include "linac/nn/layers/families.h"

namespace linac::nn {
namespace {

using nlohmann::json;

at::Tensor dense(const LayerCall& call) {
  at::Tensor product = at::matmul(call.x(), call.weights[0]);
  const at::Tensor bias = bias_of(call);
  if (bias.defined()) product.add_(bias);  // nothing else holds the product
  return call.node.attributes.value("activation", "linear") == "relu" ? product.relu_() : activate(call.node, product);
}

at::Tensor einsum_dense(const LayerCall& call) {
  std::string equation = call.node.attributes.at("equation").get<std::string>();
  std::erase(equation, ' ');
  const at::Tensor product = at::einsum(equation, {call.x(), call.weights[0]});
  const at::Tensor bias = bias_of(call);
  return activate(call.node, bias.defined() ? product + bias : product);
}

at::Tensor rescaling(const LayerCall& call) {
  const json &attributes = call.node.attributes, none = 0.0, one = 1.0;
  return call.x() * constant(attributes.value("scale", one), call.x()) +
         constant(attributes.value("offset", none), call.x());
}

at::Tensor same(const LayerCall& call) {
  return call.x();
}

}  // namespace

std::vector<NamedLayer> core_layers() {
  return {{"Dense", dense}, {"EinsumDense", einsum_dense}, {"Rescaling", rescaling}, {"ActivityRegularization", same}};
}

}  // namespace linac::nn
