#include "linac/model/graph/input_rules.h"

#include <fmt/format.h>

#include <set>

#include "linac/base/base/plural.h"
#include "linac/model/graph/layers/attributes.h"

namespace linac::graph {
namespace {

/// What it gives are values of what it takes, in other places.
bool moves_values(const Node& node) {
  static const std::set<std::string> movers{"Reshape",       "Flatten",     "Permute",        "ops.Reshape",
                                            "ops.Transpose", "ops.Squeeze", "ops.ExpandDims", "Concatenate"};
  return movers.contains(node.op);
}

bool is_integer_cast(const Node& node) {
  return node.op == "ops.Cast" && text(node, "dtype", "float32").starts_with("int");
}

/// An input whose values a node has, and whether without their fractions.
using Origin = std::pair<size_t, bool>;

/// What the layer asks of the values that it takes as input number `place`.
void add_rule(const Graph& graph, const Node& node, size_t place, bool cut, InputRule& rule) {
  if (node.op == "Masking") {
    const auto value = static_cast<float>(number(node, "mask_value", 0));
    if (value != 0 && !cut && !rule.hidden) rule.hidden = Hidden{node.name, value};
  } else if (node.op == "Embedding") {
    const int64_t count = integer(node, "input_dim");
    rule.indices.push_back({node.name, "Embedding of " + plural(count, "row"), 0, count - 1, cut});
  } else if (node.op == "ops.OneHot") {
    // Keras makes zeros of an index beyond the classes. Of -1 that is wanted: no class at all.
    const int64_t count = integer(node, "num_classes");
    rule.indices.push_back({node.name, fmt::format("one_hot of {} classes", count), -1, count - 1, cut});
  } else if (node.op == "ops.TakeAlongAxis" && place == 1) {
    const Shape& from = graph.nodes[static_cast<size_t>(node.inputs[0])].output;
    const int64_t count = from[axis_of(node, node.attributes.value("axis", nlohmann::json()), from.size())];
    rule.indices.push_back({node.name, fmt::format("take_along_axis of {}", count), -count, count - 1, cut});
  }
}

}  // namespace

std::vector<InputRule> input_rules(const Graph& graph) {
  std::vector<std::set<Origin>> origins(graph.nodes.size());
  std::vector<InputRule> rules(graph.inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) origins[static_cast<size_t>(graph.inputs[i])] = {{i, false}};
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (size_t place = 0; place < node.inputs.size(); ++place)
      for (const auto& [input, cut] : origins[static_cast<size_t>(node.inputs[place])]) {
        add_rule(graph, node, place, cut, rules[input]);
        if (moves_values(node)) origins[i].insert({input, cut});
        if (is_integer_cast(node)) origins[i].insert({input, true});
      }
  }
  return rules;
}

}  // namespace linac::graph
