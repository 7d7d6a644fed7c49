#include "linac/model/graph/input_rules.h"

#include <set>

#include "linac/model/graph/layers/attributes.h"

namespace linac::graph {
namespace {

bool moves_values(const Node& node) {
  static const std::set<std::string> movers{"Reshape",       "Flatten",     "Permute",       "ops.Reshape",
                                            "ops.Transpose", "ops.Squeeze", "ops.ExpandDims"};
  return movers.contains(node.op);
}

}  // namespace

std::vector<InputRule> input_rules(const Graph& graph) {
  constexpr size_t kNone = static_cast<size_t>(-1);
  std::vector<size_t> input_of(graph.nodes.size(), kNone);  // whose values a node has
  std::vector<InputRule> rules(graph.inputs.size());
  for (size_t i = 0; i < graph.inputs.size(); ++i) input_of[static_cast<size_t>(graph.inputs[i])] = i;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const size_t source = node.inputs.empty() ? kNone : static_cast<size_t>(node.inputs[0]);
    if (source == kNone || input_of[source] == kNone) continue;
    InputRule& rule = rules[input_of[source]];
    if (moves_values(node)) {
      input_of[i] = input_of[source];
    } else if (node.op == "Embedding") {
      const int64_t count = integer(node, "input_dim");
      if (!rule.indices || count < rule.indices->count) rule.indices = Indices{node.name, count};
    } else if (node.op == "Masking") {
      const auto value = static_cast<float>(number(node, "mask_value", 0));
      if (value != 0 && !rule.hidden) rule.hidden = Hidden{node.name, value};
    }
  }
  return rules;
}

}  // namespace linac::graph
