// Nodes of keras.ops: a call of a function on tensors and constants. attributes: Keras's settings of the operation, and
// "arguments", the arguments of the call with null where a tensor goes.
#include <fmt/format.h>

#include <algorithm>

#include "linac/model/graph/brief.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/layers/merge.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

constexpr int64_t kOutputsMax = 1 << 14;  // of one operation

// A constant beside a tensor: a number or a truth value.
void check_constants(const Node& node) {
  for (const json& argument : node.attributes.value("arguments", json::array())) {
    if (!argument.is_null() && !argument.is_number() && !argument.is_boolean())
      refuse(node, fmt::format("the argument {} is not supported (only tensors and numbers)", brief(argument)));
  }
}

void infer_elementwise(Node& node, const std::vector<Shape>& inputs) {
  check_constants(node);
  number(node, "negative_slope", 0);  // what some of them have
  number(node, "alpha", 0);
  flag(node, "approximate", false);
  node.output = broadcast_all(node, inputs);
}

// Of so many arguments, constants among them.
template <size_t Count>
void infer_elementwise_of(Node& node, const std::vector<Shape>& inputs) {
  const json arguments = node.attributes.value("arguments", json::array());
  const size_t count = arguments.empty() ? inputs.size() : arguments.size();  // none are named: tensors only
  if (count != Count) refuse(node, fmt::format("takes {} arguments and has {}", Count, count));
  infer_elementwise(node, inputs);
}

void infer_reduction(Node& node, const std::vector<Shape>& inputs) {
  const Shape& in = inputs[0];
  if (node.attributes.value("axis", json()).is_null()) refuse(node, "reduces the batch too; give an axis");
  const auto axes = axes_of(node, "axis", in.size(), -1);
  node.output.clear();
  for (size_t i = 0; i < in.size(); ++i) {
    const bool reduced = std::find(axes.begin(), axes.end(), i) != axes.end();
    if (!reduced || flag(node, "keepdims", false)) node.output.push_back(reduced ? 1 : in[i]);
  }
}

// The root of the sum of squares along an axis.
void infer_norm(Node& node, const std::vector<Shape>& inputs) {
  const json order = node.attributes.value("ord", json());
  if (!order.is_null() && order != 2 && order != "euclidean")
    refuse(node, fmt::format("ord = {} is not supported (only 2)", brief(order)));
  infer_reduction(node, inputs);
  if (axes_of(node, "axis", inputs[0].size(), -1).size() != 1) refuse(node, "only one axis is supported");
}

void infer_expand(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  const size_t axis = axis_of(node, node.attributes.value("axis", json()), inputs[0].size() + 1);
  node.output.insert(node.output.begin() + static_cast<int64_t>(axis), 1);
}

void infer_squeeze(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  const auto axes = axes_of(node, "axis", inputs[0].size(), -1);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (node.output[*axis] != 1) refuse(node, fmt::format("cannot squeeze {}", to_string(inputs[0])));
    node.output.erase(node.output.begin() + static_cast<int64_t>(*axis));
  }
}

void infer_transpose(Node& node, const std::vector<Shape>& inputs) {
  const json axes = node.attributes.value("axes", json());
  if (!axes.is_array() || axes.size() != inputs[0].size() + 1 || axes.at(0) != 0)
    refuse(node, "'axes' must list every axis, the batch first");
  std::vector<bool> taken(inputs[0].size(), false);
  node.output.clear();
  for (size_t i = 1; i < axes.size(); ++i) {
    const size_t axis = axis_of(node, axes[i], inputs[0].size());
    if (taken[axis]) refuse(node, "'axes' must list every axis once");
    taken[axis] = true;
    node.output.push_back(inputs[0][axis]);
  }
}

// The matrices are the last two axes; those before are numpy's.
void infer_matmul(Node& node, const std::vector<Shape>& inputs) {
  if (inputs.size() != 2) refuse(node, "takes two tensors");
  const Shape &a = inputs[0], &b = inputs[1];
  if (a.size() != b.size() || a.size() < 2 || a.back() != b[b.size() - 2])
    refuse(node, fmt::format("cannot multiply {} by {}", to_string(a), to_string(b)));
  node.output = broadcast(node, {a.begin(), a.end() - 2}, {b.begin(), b.end() - 2});
  node.output.push_back(a[a.size() - 2]);
  node.output.push_back(b.back());
}

double flop_matmul(const Node& node, const Shape& input) {
  return 2.0 * static_cast<double>(elements(node.output)) * static_cast<double>(input.back());
}

void infer_joined(Node& node, const std::vector<Shape>& inputs) {
  find_layer_kind("Concatenate")->infer(node, inputs);
}

/// The axis that an operation takes apart; never the batch.
size_t parted_axis(const Node& node, const Shape& in) {
  return axis_of(node, node.attributes.value("axis", json(0)), in.size());
}

void check_count(const Node& node, int64_t outputs) {
  if (outputs > kOutputsMax) refuse(node, fmt::format("makes {} outputs (limit {})", outputs, kOutputsMax));
}

void set_outputs(Node& node, std::vector<Shape> outputs) {
  node.output = outputs.front();
  node.more.assign(outputs.begin() + 1, outputs.end());
}

// Into equal parts, or before the cells of the given numbers.
void infer_split(Node& node, const std::vector<Shape>& inputs) {
  const size_t axis = parted_axis(node, inputs[0]);
  const int64_t size = inputs[0][axis];
  const json given = node.attributes.value("indices_or_sections", json());
  std::vector<int64_t> ends;
  if (given.is_array()) {
    for (const json& end : given) {
      const int64_t before = ends.empty() ? 0 : ends.back();
      if (!end.is_number_integer() || end <= before || end >= size)
        refuse(node, fmt::format("cannot split {} cells at {}", size, brief(given)));
      ends.push_back(end.get<int64_t>());
    }
    ends.push_back(size);
  } else {
    const int64_t count = integer(node, "indices_or_sections");
    check_count(node, count);
    if (size % count != 0) refuse(node, fmt::format("cannot split {} cells into {} equal parts", size, count));
    for (int64_t i = 1; i <= count; ++i) ends.push_back(i * (size / count));
  }
  std::vector<Shape> outputs;
  int64_t begin = 0;
  for (const int64_t end : ends) {
    outputs.push_back(inputs[0]);
    outputs.back()[axis] = end - begin;
    begin = end;
  }
  set_outputs(node, std::move(outputs));
}

void infer_unstack(Node& node, const std::vector<Shape>& inputs) {
  const size_t axis = parted_axis(node, inputs[0]);
  const int64_t size = inputs[0][axis];
  if (integer(node, "num", size) != size) refuse(node, fmt::format("'num' must be {}", size));
  check_count(node, size);
  Shape one = inputs[0];
  one.erase(one.begin() + static_cast<int64_t>(axis));
  set_outputs(node, std::vector<Shape>(static_cast<size_t>(size), one));
}

// Values and their numbers, along the last axis.
void infer_top_k(Node& node, const std::vector<Shape>& inputs) {
  const int64_t count = integer(node, "k");
  if (inputs[0].empty() || count > inputs[0].back())
    refuse(node, fmt::format("cannot take the {} largest of {}", count, to_string(inputs[0])));
  node.output = inputs[0];
  node.output.back() = count;
  node.more = {node.output};
}

void infer_cast(Node& node, const std::vector<Shape>& inputs) {
  const std::string type = text(node, "dtype", "float32");
  if (type != "float32" && type != "bool" && type != "int32" && type != "int64")
    refuse(node, fmt::format("a cast to '{}' is not supported", type));
  node.output = inputs[0];
}

}  // namespace

std::vector<LayerKind> operation_nodes() {
  const std::vector<Setting> reduction{{"axis", kKept, nullptr}, {"keepdims", kKept, false}};
  const std::vector<Setting> axis{{"axis", kKept, nullptr}};
  std::vector<LayerKind> kinds{
      {"ops.ExpandDims", 1, infer_expand, flop_none, axis},
      {"ops.Squeeze", 1, infer_squeeze, flop_none, axis},
      {"ops.Transpose", 1, infer_transpose, flop_none, {{"axes", kKept, nullptr}}},
      {"ops.Matmul", 2, infer_matmul, flop_matmul},
      {"ops.Concatenate", kOneOrMore, infer_joined, flop_none, axis},
      {"ops.Split", 1, infer_split, flop_none, {{"indices_or_sections", kKept, 1}, {"axis", kKept, 0}}},
      {"ops.Unstack", 1, infer_unstack, flop_none, {{"num", kKept, nullptr}, {"axis", kKept, 0}}},
      {"ops.TopK",
       1,
       infer_top_k,
       flop_per_element,
       {{"k", kKept, nullptr}, {"sorted", kIgnored, true}, {"is_stable", kIgnored, true}}},
      {"ops.ZerosLike", 1, infer_cast, flop_none, {{"dtype", kKept, nullptr}}},
      {"ops.OnesLike", 1, infer_cast, flop_none, {{"dtype", kKept, nullptr}}},
      {"ops.Cast", 1, infer_cast, flop_none, {{"dtype", kKept, nullptr}}},
      {"ops.Clip", 1, infer_elementwise, flop_per_element, {{"x_min", kKept, nullptr}, {"x_max", kKept, nullptr}}},
      {"ops.Where", kOneOrMore, infer_elementwise_of<3>, flop_per_element},
      {"ops.Norm",
       1,
       infer_norm,
       flop_per_element,
       {{"ord", kKept, nullptr}, {"axis", kKept, nullptr}, {"keepdims", kKept, false}}},
      {"ops.Round", 1, infer_elementwise, flop_per_element, {{"decimals", kDefaultOnly, 0}}},
      {"ops.LeakyRelu", 1, infer_elementwise, flop_per_element, {{"negative_slope", kKept, 0.2}}},
      {"ops.Elu", 1, infer_elementwise, flop_per_element, {{"alpha", kKept, 1.0}}},
      {"ops.Gelu", 1, infer_elementwise, flop_per_element, {{"approximate", kKept, true}}},
  };
  for (const char* name : {"Any", "All", "Sum", "Mean", "Max", "Min", "Prod", "Var", "Std", "Logsumexp"})
    kinds.push_back({std::string("ops.") + name, 1, infer_reduction, flop_per_element, reduction});
  for (const char* name :
       {"Add", "Subtract", "Multiply", "Divide", "TrueDivide", "Power", "Maximum", "Minimum", "NotEqual", "Equal",
        "Greater", "GreaterEqual", "Less", "LessEqual", "LogicalAnd", "LogicalOr", "Arctan2", "Mod"})
    kinds.push_back({std::string("ops.") + name, kOneOrMore, infer_elementwise_of<2>, flop_per_element});
  for (const char* name : {"Negative", "Absolute", "Square",  "Sqrt",       "Rsqrt",      "Exp",  "Expm1", "Log",
                           "Log1p",    "Sin",      "Cos",     "Tanh",       "Sigmoid",    "Relu", "Silu",  "Softplus",
                           "Sign",     "Floor",    "Ceil",    "LogicalNot", "Tan",        "Sinh", "Cosh",  "Arcsin",
                           "Arccos",   "Arctan",   "Arcsinh", "Log10",      "Reciprocal", "Erf",  "Selu"})
    kinds.push_back({std::string("ops.") + name, 1, infer_elementwise, flop_per_element});
  return kinds;
}

}  // namespace linac::graph
