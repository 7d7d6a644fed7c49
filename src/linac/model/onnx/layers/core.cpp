#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

using nlohmann::json;

Value dense(const LayerCall& call) {
  return add_bias_and_activate(call, call.emit.op("MatMul", {call.x(), call.weight(0)}));
}

Value einsum_dense(const LayerCall& call) {
  auto equation = call.node.attributes.at("equation").get<std::string>();
  std::erase(equation, ' ');
  return add_bias_and_activate(call,
                               call.emit.op("Einsum", {call.x(), call.weight(0)}, {{"equation", std::move(equation)}}));
}

Value rescaling(const LayerCall& call) {
  const json &attributes = call.node.attributes, none = 0.0, one = 1.0;
  const std::string scaled = call.emit.op("Mul", {call.x(), constant(call.emit, attributes.value("scale", one))});
  return call.result(call.emit.op("Add", {scaled, constant(call.emit, attributes.value("offset", none))}));
}

// Random in training only, or of meaning there.
Value same(const LayerCall& call) {
  return call.inputs[0];
}

}  // namespace

Value add_bias_and_activate(const LayerCall& call, const std::string& x, size_t bias) {
  return activate(call, call.result(call.weights.size() > bias ? call.emit.op("Add", {x, call.weight(bias)}) : x));
}

std::vector<NamedLayer> core_layers() {
  return {{"Dense", dense},           {"EinsumDense", einsum_dense},   {"Rescaling", rescaling},
          {"Dropout", same},          {"GaussianDropout", same},       {"AlphaDropout", same},
          {"SpatialDropout1D", same}, {"SpatialDropout2D", same},      {"SpatialDropout3D", same},
          {"GaussianNoise", same},    {"ActivityRegularization", same}};
}

}  // namespace linac::onnx
