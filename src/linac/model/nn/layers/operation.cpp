// Nodes of keras.ops (model/graph/layers/operation.cpp).
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

using nlohmann::json;

/// The arguments of the call in their order: its tensors, and its constants as tensors.
std::vector<at::Tensor> arguments(const LayerCall& call) {
  std::vector<at::Tensor> all;
  size_t next = 0;
  for (const json& argument : call.node.attributes.value("arguments", json::array())) {
    if (argument.is_null())
      all.push_back(call.inputs.at(next++));
    else if (argument.is_boolean())
      all.push_back(at::scalar_tensor(argument.get<bool>(), at::kBool));
    else
      all.push_back(at::scalar_tensor(argument.get<double>(), at::kFloat));
  }
  if (all.empty()) all = call.inputs;  // built in C++ with nothing but tensors
  return all;
}

template <at::Tensor (*Function)(const at::Tensor&)>
at::Tensor one(const LayerCall& call) {
  return Function(call.x());
}

template <class Function>
at::Tensor two(const LayerCall& call, const Function& function) {
  const auto all = arguments(call);
  return function(all.at(0), all.at(1));
}

std::vector<int64_t> reduced_axes(const LayerCall& call) {
  std::vector<int64_t> axes;
  const auto rank = static_cast<size_t>(call.x().dim() - 1);
  for (const size_t axis : graph::axes_of(call.node, "axis", rank, -1)) axes.push_back(static_cast<int64_t>(axis) + 1);
  return axes;
}

bool keeps(const LayerCall& call) {
  return call.node.attributes.value("keepdims", false);
}

// One axis after the other, the last first, so that the numbers stay valid.
template <class Function>
at::Tensor reduce_in_turn(const LayerCall& call, const Function& function) {
  at::Tensor result = call.x();
  const auto axes = reduced_axes(call);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) result = function(result, *axis, keeps(call));
  return result;
}

int64_t axis_attribute(const LayerCall& call, int64_t rank) {
  const auto axis = call.node.attributes.at("axis").get<int64_t>();
  return axis < 0 ? axis + rank : axis;
}

at::Tensor clip(const LayerCall& call) {
  return at::clamp(call.x(), call.node.attributes.at("x_min").get<double>(),
                   call.node.attributes.at("x_max").get<double>());
}

at::ScalarType type_of(const LayerCall& call) {
  const std::string type = call.node.attributes.value("dtype", "float32");
  return type == "bool" ? at::kBool : type == "float32" ? at::kFloat : at::kLong;
}

at::Tensor squeeze(const LayerCall& call) {
  std::vector<int64_t> shape{call.x().size(0)};
  shape.insert(shape.end(), call.node.output.begin(), call.node.output.end());
  return call.x().reshape(shape);
}

// By one matrix for all, which LibTorch multiplies faster than a batch of it.
at::Tensor matmul(const LayerCall& call) {
  const at::Tensor &a = call.inputs[0], &b = call.inputs[1];
  const bool one_matrix = b.numel() == b.size(-1) * b.size(-2);
  return at::matmul(a, one_matrix ? b.reshape({b.size(-2), b.size(-1)}) : b);
}

at::Tensor where(const LayerCall& call) {
  const auto all = arguments(call);
  return at::where(all.at(0).to(at::kBool), all.at(1), all.at(2));
}

// One after the other along the axis; the shapes say how long each is.
at::Tensor split(const LayerCall& call) {
  const int64_t axis = joined_axis(call);
  int64_t begin = 0;
  const auto next = [&](const graph::Shape& shape) {
    const int64_t size = shape[static_cast<size_t>(axis - 1)];
    begin += size;
    return call.x().narrow(axis, begin - size, size);
  };
  const at::Tensor first = next(call.node.output);
  if (call.more == nullptr) return first;
  for (const graph::Shape& shape : call.node.more) call.more->push_back(next(shape));
  return first;
}

at::Tensor unstack(const LayerCall& call) {
  const int64_t axis = axis_attribute(call, call.x().dim());
  if (call.more != nullptr)
    for (int64_t i = 1; i < call.x().size(axis); ++i) call.more->push_back(call.x().select(axis, i));
  return call.x().select(axis, 0);
}

// Of equal values the first one first, as Keras has it.
at::Tensor top_k(const LayerCall& call) {
  const auto [values, places] = at::sort(call.x(), /*stable=*/true, /*dim=*/-1, /*descending=*/true);
  const int64_t count = call.node.output.back();
  if (call.more != nullptr) *call.more = {places.narrow(-1, 0, count).to(at::kInt)};
  return values.narrow(-1, 0, count);
}

}  // namespace

std::vector<NamedLayer> operation_nodes() {
  return {
      {"ops.Negative", one<at::neg>},
      {"ops.Absolute", one<at::abs>},
      {"ops.Square", one<at::square>},
      {"ops.Sqrt", one<at::sqrt>},
      {"ops.Rsqrt", one<at::rsqrt>},
      {"ops.Exp", one<at::exp>},
      {"ops.Expm1", one<at::expm1>},
      {"ops.Log", one<at::log>},
      {"ops.Log1p", one<at::log1p>},
      {"ops.Sin", one<at::sin>},
      {"ops.Cos", one<at::cos>},
      {"ops.Tanh", one<at::tanh>},
      {"ops.Sigmoid", one<at::sigmoid>},
      {"ops.Relu", one<at::relu>},
      {"ops.Silu", one<at::silu>},
      {"ops.Softplus", [](const LayerCall& call) { return at::softplus(call.x()); }},
      {"ops.Sign", one<at::sign>},
      {"ops.Floor", one<at::floor>},
      {"ops.Ceil", one<at::ceil>},
      {"ops.LogicalNot", one<at::logical_not>},
      {"ops.Tan", one<at::tan>},
      {"ops.Sinh", one<at::sinh>},
      {"ops.Cosh", one<at::cosh>},
      {"ops.Arcsin", one<at::asin>},
      {"ops.Arccos", one<at::acos>},
      {"ops.Arctan", one<at::atan>},
      {"ops.Arcsinh", one<at::asinh>},
      {"ops.Log10", one<at::log10>},
      {"ops.Reciprocal", one<at::reciprocal>},
      {"ops.Round", one<at::round>},
      {"ops.Erf", one<at::erf>},
      {"ops.Selu", one<at::selu>},
      {"ops.LeakyRelu",
       [](const LayerCall& call) {
         return at::leaky_relu(call.x(), call.node.attributes.value("negative_slope", 0.2));
       }},
      {"ops.Elu", [](const LayerCall& call) { return at::elu(call.x(), call.node.attributes.value("alpha", 1.0)); }},
      {"ops.Gelu",
       [](const LayerCall& call) {
         return at::gelu(call.x(), call.node.attributes.value("approximate", true) ? "tanh" : "none");
       }},
      {"ops.Arctan2",
       [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return at::atan2(a, b); }); }},
      {"ops.Mod",
       [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return at::remainder(a, b); }); }},
      {"ops.Add", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a + b; }); }},
      {"ops.Subtract", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a - b; }); }},
      {"ops.Multiply", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a * b; }); }},
      {"ops.Divide", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a / b; }); }},
      {"ops.TrueDivide", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a / b; }); }},
      {"ops.Power", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return at::pow(a, b); }); }},
      {"ops.Maximum",
       [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return at::maximum(a, b); }); }},
      {"ops.Minimum",
       [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return at::minimum(a, b); }); }},
      {"ops.NotEqual", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a != b; }); }},
      {"ops.Equal", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a == b; }); }},
      {"ops.Greater", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a > b; }); }},
      {"ops.GreaterEqual", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a >= b; }); }},
      {"ops.Less", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a < b; }); }},
      {"ops.LessEqual", [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return a <= b; }); }},
      {"ops.LogicalAnd",
       [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return at::logical_and(a, b); }); }},
      {"ops.LogicalOr",
       [](const LayerCall& call) { return two(call, [](auto& a, auto& b) { return at::logical_or(a, b); }); }},
      {"ops.Where", where},
      {"ops.Clip", clip},
      {"ops.Cast", [](const LayerCall& call) { return call.x().to(type_of(call)); }},
      {"ops.ZerosLike", [](const LayerCall& call) { return at::zeros_like(call.x(), type_of(call)); }},
      {"ops.OnesLike", [](const LayerCall& call) { return at::ones_like(call.x(), type_of(call)); }},
      {"ops.Concatenate", [](const LayerCall& call) { return at::cat(call.inputs, joined_axis(call)); }},
      {"ops.Matmul", matmul},
      {"ops.ExpandDims",
       [](const LayerCall& call) { return call.x().unsqueeze(axis_attribute(call, call.x().dim() + 1)); }},
      {"ops.Squeeze", squeeze},
      {"ops.Split", split},
      {"ops.Unstack", unstack},
      {"ops.TopK", top_k},
      {"ops.Transpose",
       [](const LayerCall& call) {
         return call.x().permute(call.node.attributes.at("axes").get<std::vector<int64_t>>());
       }},
      {"ops.Sum", [](const LayerCall& call) { return at::sum(call.x(), reduced_axes(call), keeps(call)); }},
      {"ops.Mean", [](const LayerCall& call) { return at::mean(call.x(), reduced_axes(call), keeps(call)); }},
      {"ops.Max", [](const LayerCall& call) { return at::amax(call.x(), reduced_axes(call), keeps(call)); }},
      {"ops.Min", [](const LayerCall& call) { return at::amin(call.x(), reduced_axes(call), keeps(call)); }},
      {"ops.Var", [](const LayerCall& call) { return at::var(call.x(), reduced_axes(call), false, keeps(call)); }},
      {"ops.Std", [](const LayerCall& call) { return at::std(call.x(), reduced_axes(call), false, keeps(call)); }},
      {"ops.Logsumexp", [](const LayerCall& call) { return at::logsumexp(call.x(), reduced_axes(call), keeps(call)); }},
      {"ops.Norm",
       [](const LayerCall& call) { return at::sqrt(at::sum(call.x() * call.x(), reduced_axes(call), keeps(call))); }},
      {"ops.Prod",
       [](const LayerCall& call) {
         return reduce_in_turn(call,
                               [](const at::Tensor& x, int64_t axis, bool keep) { return at::prod(x, axis, keep); });
       }},
      {"ops.Any",
       [](const LayerCall& call) {
         return reduce_in_turn(call,
                               [](const at::Tensor& x, int64_t axis, bool keep) { return at::any(x, axis, keep); });
       }},
      {"ops.All",
       [](const LayerCall& call) {
         return reduce_in_turn(call,
                               [](const at::Tensor& x, int64_t axis, bool keep) { return at::all(x, axis, keep); });
       }},
  };
}

}  // namespace linac::nn
