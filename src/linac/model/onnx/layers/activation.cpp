#include <cmath>
#include <map>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

using Function = std::string (*)(Emitter&, const std::string&);

std::string clip(Emitter& emit, const std::string& x, double low, double high) {
  return emit.op("Clip", {x, emit.scalar(low), emit.scalar(high)});
}

// x times the standard normal distribution's integral up to x.
std::string gelu(Emitter& emit, const std::string& x) {
  const std::string erf = emit.op("Erf", {emit.op("Mul", {x, emit.scalar(1 / std::numbers::sqrt2)})});
  return emit.op("Mul", {emit.op("Mul", {x, emit.scalar(0.5)}), emit.op("Add", {erf, emit.scalar(1)})});
}

std::string silu(Emitter& emit, const std::string& x) {
  return emit.op("Mul", {x, emit.op("Sigmoid", {x})});
}

std::string hard_sigmoid(Emitter& emit, const std::string& x) {
  return emit.op("HardSigmoid", {x}, {{"alpha", 1.0F / 6}, {"beta", 0.5F}});
}

std::string hard_silu(Emitter& emit, const std::string& x) {
  return emit.op("HardSwish", {x});
}

template <const char* Op>
std::string one(Emitter& emit, const std::string& x) {
  return emit.op(Op, {x});
}

constexpr char kRelu[] = "Relu", kSigmoid[] = "Sigmoid", kTanh[] = "Tanh", kElu[] = "Elu", kSelu[] = "Selu",
               kCelu[] = "Celu", kSoftplus[] = "Softplus", kSoftsign[] = "Softsign", kExp[] = "Exp";

const std::map<std::string, Function>& functions() {
  static const std::map<std::string, Function> table{
      {"linear", [](Emitter&, const std::string& x) { return x; }},
      {"relu", one<kRelu>},
      {"sigmoid", one<kSigmoid>},
      {"tanh", one<kTanh>},
      {"elu", one<kElu>},
      {"selu", one<kSelu>},
      {"celu", one<kCelu>},
      {"softplus", one<kSoftplus>},
      {"softsign", one<kSoftsign>},
      {"exponential", one<kExp>},
      {"gelu", gelu},
      {"silu", silu},
      {"swish", silu},
      {"mish",
       [](Emitter& emit, const std::string& x) {
         return emit.op("Mul", {x, emit.op("Tanh", {emit.op("Softplus", {x})})});
       }},
      {"hard_sigmoid", hard_sigmoid},
      {"hard_silu", hard_silu},
      {"hard_swish", hard_silu},
      {"hard_tanh", [](Emitter& emit, const std::string& x) { return clip(emit, x, -1, 1); }},
      {"leaky_relu",
       [](Emitter& emit, const std::string& x) {
         return emit.op("LeakyRelu", {x}, {{"alpha", 0.2F}});
       }},
      {"relu6", [](Emitter& emit, const std::string& x) { return clip(emit, x, 0, 6); }},
      {"log_sigmoid",
       [](Emitter& emit, const std::string& x) {
         return emit.op("Neg", {emit.op("Softplus", {emit.op("Neg", {x})})});
       }},
      {"tanh_shrink",
       [](Emitter& emit, const std::string& x) {
         return emit.op("Sub", {x, emit.op("Tanh", {x})});
       }},
      {"soft_shrink",
       [](Emitter& emit, const std::string& x) {
         return emit.op("Shrink", {x}, {{"bias", 0.5F}, {"lambd", 0.5F}});
       }},
      {"hard_shrink",
       [](Emitter& emit, const std::string& x) {
         return emit.op("Shrink", {x}, {{"lambd", 0.5F}});
       }},
  };
  return table;
}

Value activation(const LayerCall& call) {
  return activate(call, call.emit.as(Type::kFloat, call.inputs[0]));
}

/// A layer of one operator that takes an image in either order of its axes.
Value elementwise(const LayerCall& call, const std::string& op, std::vector<Attribute> attributes) {
  const Value x = call.emit.as(Type::kFloat, call.inputs[0]);
  return call.result(call.emit.op(op, {x.name}, std::move(attributes)), x.layout);
}

// Between the threshold and the largest value the identity, below it a line through the threshold.
Value relu(const LayerCall& call) {
  Emitter& emit = call.emit;
  const nlohmann::json& settings = call.node.attributes;
  const std::string x = call.x(), threshold = emit.scalar(settings.value("threshold", 0.0));
  const std::string below =
      emit.op("Mul", {emit.op("Sub", {x, threshold}), emit.scalar(settings.value("negative_slope", 0.0))});
  const std::string above =
      settings.contains("max_value") ? emit.op("Min", {x, emit.scalar(settings.at("max_value").get<double>())}) : x;
  return call.result(emit.op("Where", {emit.op("GreaterOrEqual", {x, threshold}), above, below}));
}

Value leaky_relu(const LayerCall& call) {
  return elementwise(call, "LeakyRelu",
                     {{"alpha", static_cast<float>(graph::number(call.node, "negative_slope", 0.3))}});
}

Value prelu(const LayerCall& call) {
  return call.result(call.emit.op("PRelu", {call.x(), call.weight(0)}));
}

Value elu(const LayerCall& call) {
  return elementwise(call, "Elu", {{"alpha", static_cast<float>(graph::number(call.node, "alpha", 1))}});
}

// A mask hides elements of the last axes, as Keras broadcasts it.
Value softmax(const LayerCall& call) {
  Emitter& emit = call.emit;
  const Attribute axis{"axis", axes_with_batch(call.node, call.node.output.size())[0]};
  if (!call.mask().defined()) return call.result(emit.op("Softmax", {call.x()}, {axis}));
  const std::string mask = emit.in(Layout::kChannelsLast, call.mask());
  const std::string shares = emit.op("Softmax", {emit.op("Where", {mask, call.x(), emit.scalar(-1e9)})}, {axis});
  return call.result(emit.op("Where", {mask, shares, emit.scalar(0)}));
}

}  // namespace

std::string activate(Emitter& emit, const std::string& name, const std::string& x, int64_t channels) {
  if (name == "softmax") return emit.op("Softmax", {x}, {{"axis", channels}});
  if (name == "log_softmax") return emit.op("LogSoftmax", {x}, {{"axis", channels}});
  const auto found = functions().find(name);
  LINAC_CHECK(found != functions().end());
  return found->second(emit, x);
}

Value activate(const LayerCall& call, const Value& x) {
  return call.result(
      activate(call.emit, call.node.attributes.value("activation", "linear"), x.name, x.axis(x.rank() - 1)), x.layout);
}

std::vector<NamedLayer> activation_layers() {
  return {{"Activation", activation}, {"ReLU", relu}, {"LeakyReLU", leaky_relu},
          {"PReLU", prelu},           {"ELU", elu},   {"Softmax", softmax}};
}

}  // namespace linac::onnx
