#include <fmt/format.h>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/layers/merge.h"

namespace linac::graph {

Shape broadcast(const Node& node, const Shape& a, const Shape& b) {
  const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Shape result = longer;
  for (size_t i = 0; i < shorter.size(); ++i) {
    int64_t& size = result[longer.size() - shorter.size() + i];
    if (size != shorter[i] && size != 1 && shorter[i] != 1)
      refuse(node, fmt::format("the shapes {} and {} do not go together", to_string(a), to_string(b)));
    size = std::max(size, shorter[i]);
  }
  return result;
}

Shape broadcast_all(const Node& node, const std::vector<Shape>& inputs) {
  Shape result = inputs[0];
  for (size_t i = 1; i < inputs.size(); ++i) {
    if (inputs[i].size() != inputs[0].size()) {
      refuse(node,
             fmt::format("joins {} and {}; reshape them to as many axes", to_string(inputs[0]), to_string(inputs[i])));
    }
    result = broadcast(node, result, inputs[i]);
  }
  return result;
}

namespace {

using nlohmann::json;
using enum SettingKind;

void infer_elementwise(Node& node, const std::vector<Shape>& inputs) {
  node.output = broadcast_all(node, inputs);
}

void infer_concatenate(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  const size_t axis = axis_of(node, node.attributes.value("axis", json(-1)), inputs[0].size());
  for (size_t i = 1; i < inputs.size(); ++i) {
    Shape expected = inputs[0];
    if (inputs[i].size() == expected.size()) expected[axis] = inputs[i][axis];
    if (inputs[i] != expected)
      refuse(node, fmt::format("cannot join {} to {}", to_string(inputs[i]), to_string(inputs[0])));
    node.output[axis] += inputs[i][axis];
    if (node.output[axis] > kElementsMax) refuse(node, "the joined axis is too large");
  }
}

void infer_dot(Node& node, const std::vector<Shape>& inputs) {
  const auto axes = dot_axes(node, inputs[0].size(), inputs[1].size());
  if (inputs[0][axes[0]] != inputs[1][axes[1]])
    refuse(node, fmt::format("cannot contract {} with {}", to_string(inputs[0]), to_string(inputs[1])));
  node.output.clear();
  for (size_t side = 0; side < 2; ++side) {
    for (size_t i = 0; i < inputs[side].size(); ++i) {
      if (i != axes[side]) node.output.push_back(inputs[side][i]);
    }
  }
  if (node.output.empty()) node.output = {1};
  if (node.output.size() > 3) refuse(node, "a contraction of more than three axes with the batch is not supported");
}

double flop_dot(const Node& node, const Shape& input) {
  const auto axis = dot_axes(node, input.size(), input.size())[0];
  return 2.0 * static_cast<double>(elements(node.output)) * static_cast<double>(input[axis]);
}

}  // namespace

std::array<size_t, 2> dot_axes(const Node& node, size_t rank_a, size_t rank_b) {
  const json axes = node.attributes.value("axes", json(-1));
  if (axes.is_array() && axes.size() == 2) return {axis_of(node, axes[0], rank_a), axis_of(node, axes[1], rank_b)};
  return {axis_of(node, axes, rank_a), axis_of(node, axes, rank_b)};
}

std::vector<LayerKind> merge_layers() {
  return {
      {"Add", kOneOrMore, infer_elementwise, flop_per_element},
      {"Subtract", 2, infer_elementwise, flop_per_element},
      {"Multiply", kOneOrMore, infer_elementwise, flop_per_element},
      {"Average", kOneOrMore, infer_elementwise, flop_per_element},
      {"Maximum", kOneOrMore, infer_elementwise, flop_per_element},
      {"Minimum", kOneOrMore, infer_elementwise, flop_per_element},
      {"Concatenate", kOneOrMore, infer_concatenate, flop_none, {{"axis", kKept, -1}}},
      {"Dot", 2, infer_dot, flop_dot, {{"axes", kKept, nullptr}, {"normalize", kKept, false}}},
  };
}

}  // namespace linac::graph
