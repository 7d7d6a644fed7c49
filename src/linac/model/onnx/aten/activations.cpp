#include <cmath>
#include <numbers>

#include "linac/model/onnx/aten/call.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx::aten {
namespace {

std::string x_of(const Call& call) {
  return call.tensor("self").name;
}

std::string times(Emitter& emit, const std::string& x, double factor) {
  return factor == 1 ? x : emit.op("Mul", {x, emit.scalar(factor)});
}

// By the name that Keras has for it.
template <const char* Name>
void function(const Call& call) {
  call.result(activate(call.emit, Name, x_of(call)));
}

template <const char* Op>
void along(const Call& call) {
  const Tensor x = call.tensor("self");
  const std::string floats = call.emit.cast(x.name, x.type, Type::kFloat);
  call.result(call.emit.op(Op, {floats}, {{"axis", call.axis("dim", x.rank())}}));
}

void leaky_relu(const Call& call) {
  const auto slope = static_cast<float>(call.real("negative_slope", 0.01));
  call.result(call.emit.op("LeakyRelu", {x_of(call)}, {{"alpha", slope}}));
}

void elu(const Call& call) {
  const double scale = call.real("scale", 1);
  if (call.real("input_scale", 1) != 1) call.refuse("'input_scale' is not 1");
  const auto alpha = static_cast<float>(call.real("alpha", 1));
  call.result(times(call.emit, call.emit.op("Elu", {x_of(call)}, {{"alpha", alpha}}), scale));
}

void celu(const Call& call) {
  call.result(call.emit.op("Celu", {x_of(call)}, {{"alpha", static_cast<float>(call.real("alpha", 1))}}));
}

// x above the threshold; else log(1 + exp(beta x)) / beta, which is as good as x there.
void softplus(const Call& call) {
  const double beta = call.real("beta", 1);
  Emitter& emit = call.emit;
  call.result(times(emit, emit.op("Softplus", {times(emit, x_of(call), beta)}), 1 / beta));
}

void hardtanh(const Call& call) {
  Emitter& emit = call.emit;
  call.result(
      emit.op("Clip", {x_of(call), emit.scalar(call.real("min_val", -1)), emit.scalar(call.real("max_val", 1))}));
}

void relu6(const Call& call) {
  call.result(call.emit.op("Clip", {x_of(call), call.emit.scalar(0), call.emit.scalar(6)}));
}

// "tanh": 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
void gelu(const Call& call) {
  const std::string x = x_of(call);
  Emitter& emit = call.emit;
  if (call.text("approximate", "none") == "none") return call.result(activate(emit, "gelu", x));
  const std::string cube = times(emit, emit.op("Mul", {emit.op("Mul", {x, x}), x}), 0.044715);
  const std::string inner = times(emit, emit.op("Add", {x, cube}), std::sqrt(2 / std::numbers::pi));
  call.result(emit.op("Mul", {times(emit, x, 0.5), emit.op("Add", {emit.op("Tanh", {inner}), emit.scalar(1)})}));
}

void prelu(const Call& call) {
  const Tensor x = call.tensor("self"), slope = call.tensor("weight");
  const bool single = std::get_if<int64_t>(&slope.shape[0]) != nullptr && std::get<int64_t>(slope.shape[0]) == 1;
  Shape shape(static_cast<size_t>(std::max<int64_t>(x.rank() - 1, 1)), 1);
  if (!single && x.rank() > 1) shape[0] = -1;  // a slope a channel, which is axis 1
  call.result(call.emit.op("PRelu", {x.name, single ? slope.name : call.emit.reshape(slope.name, shape)}));
}

constexpr char kRelu[] = "relu", kSigmoid[] = "sigmoid", kTanh[] = "tanh", kSilu[] = "silu", kMish[] = "mish",
               kSelu[] = "selu", kHardSigmoid[] = "hard_sigmoid", kHardSilu[] = "hard_silu",
               kLogSigmoid[] = "log_sigmoid", kSoftmax[] = "Softmax", kLogSoftmax[] = "LogSoftmax";

}  // namespace

std::vector<NamedFunction> activations() {
  return {
      {"relu.default", function<kRelu>},
      {"relu6.default", relu6},
      {"sigmoid.default", function<kSigmoid>},
      {"tanh.default", function<kTanh>},
      {"silu.default", function<kSilu>},
      {"mish.default", function<kMish>},
      {"selu.default", function<kSelu>},
      {"hardsigmoid.default", function<kHardSigmoid>},
      {"hardswish.default", function<kHardSilu>},
      {"log_sigmoid.default", function<kLogSigmoid>},
      {"gelu.default", gelu},
      {"leaky_relu.default", leaky_relu},
      {"elu.default", elu},
      {"celu.default", celu},
      {"softplus.default", softplus},
      {"hardtanh.default", hardtanh},
      {"prelu.default", prelu},
      {"softmax.int", along<kSoftmax>},
      {"_softmax.default", along<kSoftmax>},
      {"log_softmax.int", along<kLogSoftmax>},
      {"_log_softmax.default", along<kLogSoftmax>},
  };
}

}  // namespace linac::onnx::aten
