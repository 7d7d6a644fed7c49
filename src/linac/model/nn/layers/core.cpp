#include "linac/model/nn/layers/families.h"
#include "linac/model/nn/linear.h"

namespace linac::nn {
namespace {

using nlohmann::json;

at::Tensor dense(const LayerCall& call) {
  const bool relu = call.node.attributes.value("activation", "linear") == "relu";
  const at::Tensor y = linear(call.x(), call.weights[0], bias_of(call), call.kernels, relu ? 0 : 1);
  return relu ? y : activate(call.node, y);
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
