// Nodes of keras.ops (model/graph/layers/operation.cpp).
#include <cmath>
#include <map>
#include <numbers>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"
#include "linac/model/onnx/layers/operands.h"

namespace linac::onnx {
namespace {

using nlohmann::json;

struct Operator {
  const char* name;
  Type least = Type::kInt32;  // what narrower operands become
  bool negated = false;       // with a Not behind it
};

const std::map<std::string, Operator>& operators() {
  static const std::map<std::string, Operator> table{{"ops.Add", {"Add"}},
                                                     {"ops.Subtract", {"Sub"}},
                                                     {"ops.Multiply", {"Mul"}},
                                                     {"ops.Divide", {"Div", Type::kFloat}},
                                                     {"ops.TrueDivide", {"Div", Type::kFloat}},
                                                     {"ops.Power", {"Pow"}},
                                                     {"ops.Maximum", {"Max"}},
                                                     {"ops.Minimum", {"Min"}},
                                                     {"ops.Equal", {"Equal"}},
                                                     {"ops.NotEqual", {"Equal", Type::kInt32, true}},
                                                     {"ops.Greater", {"Greater"}},
                                                     {"ops.GreaterEqual", {"GreaterOrEqual"}},
                                                     {"ops.Less", {"Less"}},
                                                     {"ops.LessEqual", {"LessOrEqual"}},
                                                     {"ops.Negative", {"Neg"}},
                                                     {"ops.Absolute", {"Abs"}},
                                                     {"ops.Sign", {"Sign"}},
                                                     {"ops.Sqrt", {"Sqrt", Type::kFloat}},
                                                     {"ops.Exp", {"Exp", Type::kFloat}},
                                                     {"ops.Log", {"Log", Type::kFloat}},
                                                     {"ops.Sin", {"Sin", Type::kFloat}},
                                                     {"ops.Cos", {"Cos", Type::kFloat}},
                                                     {"ops.Tanh", {"Tanh", Type::kFloat}},
                                                     {"ops.Sigmoid", {"Sigmoid", Type::kFloat}},
                                                     {"ops.Relu", {"Relu", Type::kFloat}},
                                                     {"ops.Softplus", {"Softplus", Type::kFloat}},
                                                     {"ops.Floor", {"Floor", Type::kFloat}},
                                                     {"ops.Ceil", {"Ceil", Type::kFloat}},
                                                     {"ops.Tan", {"Tan", Type::kFloat}},
                                                     {"ops.Sinh", {"Sinh", Type::kFloat}},
                                                     {"ops.Cosh", {"Cosh", Type::kFloat}},
                                                     {"ops.Arcsin", {"Asin", Type::kFloat}},
                                                     {"ops.Arccos", {"Acos", Type::kFloat}},
                                                     {"ops.Arctan", {"Atan", Type::kFloat}},
                                                     {"ops.Arcsinh", {"Asinh", Type::kFloat}},
                                                     {"ops.Reciprocal", {"Reciprocal", Type::kFloat}},
                                                     {"ops.Round", {"Round", Type::kFloat}},
                                                     {"ops.Erf", {"Erf", Type::kFloat}},
                                                     {"ops.Selu", {"Selu", Type::kFloat}},
                                                     {"ops.LogicalNot", {"Not"}},
                                                     {"ops.LogicalAnd", {"And"}},
                                                     {"ops.LogicalOr", {"Or"}}};
  return table;
}

Value arithmetic(const LayerCall& call) {
  const Operator& op = operators().at(call.node.op);
  const Operands x = operands(call, op.least);
  return call.result(call.emit.op(op.name, x.names), x.layout, x.type);
}

Value comparison(const LayerCall& call) {
  const Operator& op = operators().at(call.node.op);
  const Operands x = operands(call, op.least);
  const std::string result = call.emit.op(op.name, x.names);
  return call.result(op.negated ? call.emit.op("Not", {result}) : result, x.layout, Type::kBool);
}

Value logic(const LayerCall& call) {
  Operands x = operands(call, Type::kBool);
  for (std::string& name : x.names) name = call.emit.cast(name, x.type, Type::kBool);
  return call.result(call.emit.op(operators().at(call.node.op).name, x.names), x.layout, Type::kBool);
}

/// One float tensor in, made of a few operators.
template <class Function>
Value composed(const LayerCall& call, const Function& function) {
  const Value x = call.emit.as(Type::kFloat, call.inputs[0]);
  return call.result(function(call.emit, x.name), x.layout);
}

Value square(const LayerCall& call) {
  const Operands x = operands(call, Type::kInt32);
  return call.result(call.emit.op("Mul", {x.names[0], x.names[0]}), x.layout, x.type);
}
Value rsqrt(const LayerCall& call) {
  return composed(call,
                  [](Emitter& emit, const std::string& x) { return emit.op("Reciprocal", {emit.op("Sqrt", {x})}); });
}
Value expm1(const LayerCall& call) {
  return composed(call, [](Emitter& emit, const std::string& x) {
    return emit.op("Sub", {emit.op("Exp", {x}), emit.scalar(1)});
  });
}
Value log1p(const LayerCall& call) {
  return composed(call, [](Emitter& emit, const std::string& x) {
    return emit.op("Log", {emit.op("Add", {x, emit.scalar(1)})});
  });
}
Value log10(const LayerCall& call) {
  return composed(call, [](Emitter& emit, const std::string& x) {
    return emit.op("Mul", {emit.op("Log", {x}), emit.scalar(std::numbers::log10e)});
  });
}
Value leaky_relu(const LayerCall& call) {
  const Attribute slope{"alpha", static_cast<float>(graph::number(call.node, "negative_slope", 0.2))};
  return composed(call, [&](Emitter& emit, const std::string& x) { return emit.op("LeakyRelu", {x}, {slope}); });
}
Value elu(const LayerCall& call) {
  const Attribute alpha{"alpha", static_cast<float>(graph::number(call.node, "alpha", 1))};
  return composed(call, [&](Emitter& emit, const std::string& x) { return emit.op("Elu", {x}, {alpha}); });
}

// Its approximation by a hyperbolic tangent (Hendrycks and Gimpel, arXiv:1606.08415) is keras.ops's default.
Value gelu(const LayerCall& call) {
  if (!graph::flag(call.node, "approximate", true))
    return composed(call, [](Emitter& emit, const std::string& x) { return activate(emit, "gelu", x); });
  return composed(call, [](Emitter& emit, const std::string& x) {
    const std::string cube = emit.op("Mul", {x, emit.op("Mul", {x, x})});
    const std::string inner = emit.op("Add", {x, emit.op("Mul", {cube, emit.scalar(0.044715)})});
    const std::string tanh = emit.op("Tanh", {emit.op("Mul", {inner, emit.scalar(std::sqrt(2 / std::numbers::pi))})});
    return emit.op("Mul", {emit.op("Mul", {x, emit.scalar(0.5)}), emit.op("Add", {tanh, emit.scalar(1)})});
  });
}

// Of y and x: the angle in the right half, and half a turn more or less in the left one.
Value arctan2(const LayerCall& call) {
  const Operands all = operands(call, Type::kFloat);
  const std::string &y = all.names[0], &x = all.names[1], zero = call.emit.scalar(0);
  Emitter& emit = call.emit;
  const std::string angle = emit.op("Atan", {emit.op("Div", {y, x})});
  const std::string half =
      emit.op("Where", {emit.op("Less", {y, zero}), emit.scalar(-std::numbers::pi), emit.scalar(std::numbers::pi)});
  const std::string turned = emit.op("Where", {emit.op("Less", {x, zero}), emit.op("Add", {angle, half}), angle});
  const std::string at_origin = emit.op("And", {emit.op("Equal", {x, zero}), emit.op("Equal", {y, zero})});
  return call.result(emit.op("Where", {at_origin, zero, turned}), all.layout);
}

// With the sign of the divisor.
Value mod(const LayerCall& call) {
  const Operands all = operands(call, Type::kFloat);
  Emitter& emit = call.emit;
  const std::string whole = emit.op("Floor", {emit.op("Div", {all.names[0], all.names[1]})});
  return call.result(emit.op("Sub", {all.names[0], emit.op("Mul", {whole, all.names[1]})}), all.layout);
}

Value silu(const LayerCall& call) {
  return composed(call, [](Emitter& emit, const std::string& x) { return activate(emit, "silu", x); });
}

Value clip(const LayerCall& call) {
  const Value x = call.emit.as(Type::kFloat, call.inputs[0]);
  const auto limit = [&](const char* name) { return constant(call.emit, call.node.attributes.at(name)); };
  return call.result(call.emit.op("Clip", {x.name, limit("x_min"), limit("x_max")}), x.layout);
}

Value where(const LayerCall& call) {
  const Operands x = operands(call, Type::kInt32, 1);
  const std::string chosen = call.emit.in(x.layout, call.emit.as(Type::kBool, call.inputs[0]));
  return call.result(call.emit.op("Where", {chosen, x.names[0], x.names[1]}), x.layout, x.type);
}

Type type_of(const LayerCall& call, Type otherwise) {
  static const std::map<std::string, Type> types{
      {"float32", Type::kFloat}, {"bool", Type::kBool}, {"int32", Type::kInt32}, {"int64", Type::kInt64}};
  const json& given = call.node.attributes.value("dtype", json());
  return given.is_string() ? types.at(given.get<std::string>()) : otherwise;
}

Value cast(const LayerCall& call) {
  Value x = call.emit.as(type_of(call, Type::kFloat), call.inputs[0]);
  return call.result(x.name, x.layout, x.type);
}

Value filled(const LayerCall& call, double value) {
  const Type type = type_of(call, call.inputs[0].type);
  const std::string shape = call.emit.op("Shape", {call.emit.in(Layout::kChannelsLast, call.inputs[0])});
  return call.result(call.emit.op("Expand", {call.emit.scalar(value, type), shape}), Layout::kChannelsLast, type);
}
Value zeros_like(const LayerCall& call) {
  return filled(call, 0);
}
Value ones_like(const LayerCall& call) {
  return filled(call, 1);
}

Value concatenate(const LayerCall& call) {
  const Type type = widest(call.inputs);
  Emitter::Names parts;
  for (const Value& input : call.inputs)
    parts.push_back(call.emit.in(Layout::kChannelsLast, call.emit.as(type, input)));
  return call.result(call.emit.op("Concat", std::move(parts), {{"axis", joined_axis(call.node)}}),
                     Layout::kChannelsLast, type);
}

Value split(const LayerCall& call) {
  const Value& x = call.inputs[0];
  const auto axis = static_cast<size_t>(joined_axis(call.node));
  Shape sizes{call.node.output[axis - 1]};
  for (const Shape& shape : call.node.more) sizes.push_back(shape[axis - 1]);
  const Emitter::Names parts = call.emit.op("Split", {call.emit.in(Layout::kChannelsLast, x), call.emit.ints(sizes)},
                                            {{"axis", static_cast<int64_t>(axis)}}, sizes.size());
  for (size_t i = 1; i < parts.size(); ++i)
    call.more->push_back({parts[i], call.node.more[i - 1], x.type, Layout::kChannelsLast});
  return call.result(parts[0], Layout::kChannelsLast, x.type);
}

Value unstack(const LayerCall& call) {
  const Value& x = call.inputs[0];
  const int64_t axis = axes_with_batch(call.node, x.shape.size())[0];
  const auto cell = [&](int64_t i) {
    const std::string place = call.emit.scalar(static_cast<double>(i), Type::kInt64);
    return call.emit.op("Gather", {call.emit.in(Layout::kChannelsLast, x), place}, {{"axis", axis}});
  };
  for (size_t i = 0; i < call.node.more.size(); ++i)
    call.more->push_back({cell(static_cast<int64_t>(i) + 1), call.node.more[i], x.type, Layout::kChannelsLast});
  return call.result(cell(0), Layout::kChannelsLast, x.type);
}

Value top_k(const LayerCall& call) {
  const Value& x = call.inputs[0];
  const Emitter::Names found =
      call.emit.op("TopK", {call.emit.in(Layout::kChannelsLast, x), call.emit.ints({call.node.output.back()})},
                   {{"axis", int64_t{-1}}}, 2);
  call.more->push_back(
      {call.emit.cast(found[1], Type::kInt64, Type::kInt32), call.node.output, Type::kInt32, Layout::kChannelsLast});
  return call.result(found[0], Layout::kChannelsLast, x.type);
}

Value matmul(const LayerCall& call) {
  return call.result(call.emit.op("MatMul", {call.x(0), call.x(1)}));
}

// Axes of one cell that come or go.
Value resized(const LayerCall& call) {
  const Value& x = call.inputs[0];
  return call.result(call.emit.reshape(call.emit.in(Layout::kChannelsLast, x), behind_batch(call.node.output)),
                     Layout::kChannelsLast, x.type);
}

Value transpose(const LayerCall& call) {
  const Value& x = call.inputs[0];
  Shape axes;
  for (const json& axis : call.node.attributes.at("axes"))
    axes.push_back(axis.get<int64_t>() < 0 ? axis.get<int64_t>() + x.rank() : axis.get<int64_t>());
  return call.result(call.emit.transpose(call.emit.in(Layout::kChannelsLast, x), axes), Layout::kChannelsLast, x.type);
}

Value reduction(const LayerCall& call) {
  static const std::map<std::string, const char*> names{
      {"ops.Sum", "ReduceSum"}, {"ops.Mean", "ReduceMean"}, {"ops.Max", "ReduceMax"},
      {"ops.Min", "ReduceMin"}, {"ops.Prod", "ReduceProd"}, {"ops.Logsumexp", "ReduceLogSumExp"}};
  const bool of_floats = call.node.op == "ops.Mean" || call.node.op == "ops.Logsumexp";
  const Value x = call.emit.as(wider(call.inputs[0].type, of_floats ? Type::kFloat : Type::kInt32), call.inputs[0]);
  const Shape axes = axes_with_batch(call.node, x.shape.size());
  return call.result(call.emit.reduce(names.at(call.node.op), call.emit.in(Layout::kChannelsLast, x), axes,
                                      graph::flag(call.node, "keepdims", false)),
                     Layout::kChannelsLast, x.type);
}

// About the mean, divided by the number of values.
Value variance(const LayerCall& call) {
  Emitter& emit = call.emit;
  const std::string x = call.x();
  const Shape axes = axes_with_batch(call.node, call.inputs[0].shape.size());
  const std::string apart = emit.op("Sub", {x, emit.reduce("ReduceMean", x, axes, true)});
  const std::string mean =
      emit.reduce("ReduceMean", emit.op("Mul", {apart, apart}), axes, graph::flag(call.node, "keepdims", false));
  return call.result(call.node.op == "ops.Std" ? emit.op("Sqrt", {mean}) : mean);
}

Value norm(const LayerCall& call) {
  const std::string x = call.x();
  const Shape axes = axes_with_batch(call.node, call.inputs[0].shape.size());
  const std::string sum =
      call.emit.reduce("ReduceSum", call.emit.op("Mul", {x, x}), axes, graph::flag(call.node, "keepdims", false));
  return call.result(call.emit.op("Sqrt", {sum}));
}

Value truth_reduction(const LayerCall& call) {
  const std::string x = call.emit.in(Layout::kChannelsLast, call.emit.as(Type::kBool, call.inputs[0]));
  const Shape axes = axes_with_batch(call.node, call.inputs[0].shape.size());
  const bool keep = graph::flag(call.node, "keepdims", false);
  return call.result(call.node.op == "ops.Any" ? call.emit.any(x, axes, keep) : call.emit.all(x, axes, keep),
                     Layout::kChannelsLast, Type::kBool);
}

}  // namespace

std::vector<NamedLayer> operation_nodes() {
  std::vector<NamedLayer> nodes{{"ops.Square", square},
                                {"ops.Rsqrt", rsqrt},
                                {"ops.Expm1", expm1},
                                {"ops.Log1p", log1p},
                                {"ops.Silu", silu},
                                {"ops.Log10", log10},
                                {"ops.LeakyRelu", leaky_relu},
                                {"ops.Elu", elu},
                                {"ops.Gelu", gelu},
                                {"ops.Arctan2", arctan2},
                                {"ops.Mod", mod},
                                {"ops.Var", variance},
                                {"ops.Std", variance},
                                {"ops.Norm", norm},
                                {"ops.Clip", clip},
                                {"ops.Where", where},
                                {"ops.Cast", cast},
                                {"ops.ZerosLike", zeros_like},
                                {"ops.OnesLike", ones_like},
                                {"ops.Concatenate", concatenate},
                                {"ops.Split", split},
                                {"ops.Unstack", unstack},
                                {"ops.TopK", top_k},
                                {"ops.Matmul", matmul},
                                {"ops.ExpandDims", resized},
                                {"ops.Squeeze", resized},
                                {"ops.Transpose", transpose},
                                {"ops.Any", truth_reduction},
                                {"ops.All", truth_reduction}};
  for (const char* name : {"ops.Sum", "ops.Mean", "ops.Max", "ops.Min", "ops.Prod", "ops.Logsumexp"})
    nodes.emplace_back(name, reduction);
  for (const auto& [name, op] : operators()) {
    const std::string written = op.name;
    const bool compares = written == "Equal" || written.starts_with("Greater") || written.starts_with("Less"),
               joins = written == "Not" || written == "And" || written == "Or";
    nodes.emplace_back(name, compares ? comparison : joins ? logic : arithmetic);
  }
  return nodes;
}

}  // namespace linac::onnx
