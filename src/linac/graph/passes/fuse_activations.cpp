#include "linac/graph/passes/fuse_activations.h"

#include <optional>

#include "linac/graph/passes/fuse_pooling.h"
#include "linac/graph/passes/rewrite.h"

namespace linac::graph {
namespace {

bool is_linear_convolution(const Node& node) {
  return (node.op == "Conv3D" || node.op == "UpsampleConv3D") &&
         node.attributes.value("activation", "linear") == "linear" && node.shares < 0;
}

}  // namespace

Graph fuse_activations(const Graph& graph) {
  Graph fused = graph;
  for (Node& node : fused.nodes) {
    const std::optional<double> slope = slope_of_activation(node);
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
