#include "linac/graph/passes/fuse_activations.h"

#include <optional>

#include "linac/graph/passes/rewrite.h"

namespace linac::graph {
namespace {

std::optional<double> slope_of(const Node& node) {
  if (node.op == "Activation" && node.attributes.value("activation", "linear") == "relu") return 0;
  if (node.op != "LeakyReLU") return std::nullopt;
  const double slope = node.attributes.value("negative_slope", 0.3);
  return slope >= 0 ? std::optional(slope) : std::nullopt;
}

bool is_linear_convolution(const Node& node) {
  return (node.op == "Conv3D" || node.op == "UpsampleConv3D") &&
         node.attributes.value("activation", "linear") == "linear" && node.shares < 0;
}

}  // namespace

Graph fuse_activations(const Graph& graph) {
  Graph fused = graph;
  for (Node& node : fused.nodes) {
    const std::optional<double> slope = slope_of(node);
    if (!slope) continue;
    Node& source = fused.nodes[static_cast<size_t>(node.inputs.at(0))];
    if (!is_linear_convolution(source) || readers(graph, node.inputs[0]) != 1) continue;
    source.attributes["fused_negative_slope"] = *slope;
    node.op = "Activation";
    node.attributes = {{"activation", "linear"}};
  }
  return fused;
}

}  // namespace linac::graph
