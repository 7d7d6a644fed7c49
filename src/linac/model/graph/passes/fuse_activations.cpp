#include "linac/model/graph/passes/fuse_activations.h"

#include <algorithm>
#include <iterator>
#include <optional>

#include "linac/model/graph/passes/fuse_pooling.h"
#include "linac/model/graph/passes/rewrite.h"

namespace linac::graph {
namespace {

bool takes_activation(const Node& node) {
  constexpr const char* kOps[] = {
      "Conv1D",          "Conv2D",          "Conv3D",          "UpsampleConv3D",     "SeparableConv1D",
      "SeparableConv2D", "DepthwiseConv1D", "DepthwiseConv2D", "BatchNormalization", "Add"};
  return std::find(std::begin(kOps), std::end(kOps), node.op) != std::end(kOps) && node.shares < 0 &&
         node.attributes.value("activation", "linear") == "linear" && !node.attributes.contains(kFusedPool);
}

}  // namespace

Graph fuse_activations(const Graph& graph) {
  Graph fused = graph;
  for (Node& node : fused.nodes) {
    const std::optional<double> slope = slope_of_activation(node);
    if (!slope) continue;
    Node& source = fused.nodes[static_cast<size_t>(node.inputs.at(0))];
    if (!takes_activation(source) || readers(graph, node.inputs[0]) != 1) continue;
    source.attributes["fused_negative_slope"] = *slope;
    node.op = "Activation";
    node.attributes = {{"activation", "linear"}};
  }
  return fused;
}

}  // namespace linac::graph
