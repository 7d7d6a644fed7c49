#include "linac/model/graph/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/weight_rules.h"

namespace linac::graph {
namespace {

const std::vector<LayerKind>& table() {
  static const std::vector<LayerKind> kinds = [] {
    std::vector<LayerKind> all;
    for (auto family : {core_layers(), convolution_layers(), pooling_layers(), shape_layers(), image_layers(),
                        merge_layers(), normalization_layers(), activation_layers(), sequence_layers(),
                        attention_layers(), operation_nodes(), array_operations(), own_layers()})
      std::move(family.begin(), family.end(), std::back_inserter(all));
    return all;
  }();
  return kinds;
}

Extent3 triple(const std::vector<int64_t>& values) {
  return {values[0], values[1], values[2]};
}

}  // namespace

const LayerKind* find_layer_kind(const std::string& op) {
  for (const LayerKind& kind : table()) {
    if (kind.op == op) return &kind;
  }
  return nullptr;
}

const LayerKind& layer_kind(const Node& node) {
  if (const LayerKind* const kind = find_layer_kind(node.op)) return *kind;
  const auto near = nearest(node.op, layer_names());
  refuse(node, fmt::format("this layer class is not known{} (known: {})", near ? ", did you mean " + *near + "?" : "",
                           fmt::join(layer_names(), ", ")));
}

std::vector<std::string> layer_names() {
  std::vector<std::string> names;
  for (const LayerKind& kind : table()) names.push_back(kind.op);
  return names;
}

Node inner_layer(const Node& outer, const std::string& attribute, const Shape& input) {
  const auto found = outer.attributes.find(attribute);
  if (found == outer.attributes.end() || !found->is_object())
    refuse(outer, fmt::format("'{}' must be a layer", attribute));
  Node inner;
  inner.name = outer.name + "/" + found->at("name").get<std::string>();
  inner.op = found->at("op").get<std::string>();
  inner.attributes = found->at("attributes");
  const LayerKind& kind = layer_kind(inner);
  if (kind.inputs != 1 && kind.inputs != kOneAndStates) refuse(outer, fmt::format("cannot wrap a {}", inner.op));
  infer_layer(inner, {input});
  return inner;
}

bool has_states(const Node& node) {
  return layer_kind(node).inputs == kOneAndStates;
}

bool is_frozen(const Node& node) {
  return !flag(node, "trainable", true);
}

void infer_layer(Node& node, const std::vector<Shape>& inputs) {
  node.weights.clear();
  node.more.clear();
  layer_kind(node).infer(node, inputs);
  if (!node.more.empty() && activity_penalty(node))
    refuse(node, "a regularizer of activities of several outputs is not supported; put it on a layer behind");
  for (Weight& weight : node.weights) weight.trainable = weight.trainable && !is_frozen(node);
  apply_weight_rules(node);
}

Extent3 extent3(const Node& node, const std::string& attribute) {
  return triple(extents(node, attribute, 3));
}

std::array<std::array<int64_t, 2>, 3> zero_padding(const Node& node) {
  const auto cells = margins(node, "padding", 3);
  return {cells[0], cells[1], cells[2]};
}

std::array<std::array<int64_t, 2>, 3> own_padding(const Node& conv) {
  return pads_same(conv) ? same_padding(extent3(conv, "kernel_size")) : std::array<std::array<int64_t, 2>, 3>{};
}

std::array<std::array<int64_t, 2>, 3> same_padding(const Extent3& kernel) {
  std::array<std::array<int64_t, 2>, 3> padding{};
  for (size_t axis = 0; axis < 3; ++axis) padding[axis] = {(kernel[axis] - 1) / 2, kernel[axis] / 2};
  return padding;
}

}  // namespace linac::graph
