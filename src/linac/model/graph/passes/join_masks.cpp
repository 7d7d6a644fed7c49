#include "linac/model/graph/passes/join_masks.h"

#include <algorithm>
#include <numeric>
#include <optional>

#include "linac/model/graph/passes/rewrite.h"

namespace linac::graph {
namespace {

using nlohmann::json;

/// c of ops.NotEqual(x, c).
std::optional<double> compared_with(const Node& node) {
  const json arguments = node.attributes.value("arguments", json::array());
  const bool fits = node.op == "ops.NotEqual" && node.inputs.size() == 1 && arguments.size() == 2 &&
                    arguments[0].is_null() && arguments[1].is_number();
  return fits ? std::optional(arguments[1].get<double>()) : std::nullopt;
}

bool reduces_features(const Node& node, size_t axes) {
  if (node.op != "ops.Any" || node.attributes.value("keepdims", false)) return false;
  json axis = node.attributes.value("axis", json());
  if (axis.is_array() && axis.size() == 1) axis = axis[0];
  return axis == -1 || axis == static_cast<int64_t>(axes);  // Keras counts the batch axis
}

}  // namespace

Graph join_masks(const Graph& graph) {
  Graph joined = graph;
  std::vector<bool> gone(graph.nodes.size(), false);
  for (Node& node : joined.nodes) {
    if (node.op != "ops.Any") continue;
    const auto source = static_cast<size_t>(node.inputs.at(0));
    const std::optional<double> value = compared_with(graph.nodes[source]);
    const size_t axes = graph.nodes[source].output.size();
    if (!value || axes < 2 || !reduces_features(node, axes) || readers(graph, node.inputs[0]) != 1) continue;
    node.op = "StepMask";
    node.attributes = {{"value", *value}};
    node.inputs = graph.nodes[source].inputs;
    gone[source] = true;
  }
  if (std::find(gone.begin(), gone.end(), true) == gone.end()) return graph;
  std::vector<int> itself(graph.nodes.size());
  std::iota(itself.begin(), itself.end(), 0);
  return without(joined, gone, itself);
}

}  // namespace linac::graph
