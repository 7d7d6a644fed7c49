#include "linac/model/graph/passes/fold_upsample.h"

#include <numeric>

#include "linac/model/graph/layers/window.h"
#include "linac/model/graph/passes/rewrite.h"

namespace linac::graph {
namespace {

bool is_nearest_upsampling(const Node& node) {
  return node.op == "UpSampling3D" && node.attributes.value("interpolation", "nearest") == "nearest";
}

bool folds(const Graph& graph, const Node& conv) {
  if (conv.op != "Conv3D" || conv.attributes.value("padding", "valid") != "valid" || conv.shares >= 0) return false;
  if (!is_dense_conv3d(conv)) return false;
  const int source = conv.inputs.at(0);
  return is_nearest_upsampling(graph.nodes[static_cast<size_t>(source)]) && readers(graph, source) == 1;
}

}  // namespace

Graph fold_upsample(const Graph& graph) {
  Graph folded = graph;
  std::vector<bool> gone(graph.nodes.size(), false);
  std::vector<int> replaced(graph.nodes.size());
  std::iota(replaced.begin(), replaced.end(), 0);
  for (Node& node : folded.nodes) {
    if (!folds(graph, node)) continue;
    const Node& upsampling = graph.nodes[static_cast<size_t>(node.inputs[0])];
    gone[static_cast<size_t>(node.inputs[0])] = true;
    node.op = "UpsampleConv3D";
    node.attributes["size"] = upsampling.attributes.at("size");
    node.inputs = upsampling.inputs;
  }
  return without(folded, gone, replaced);
}

}  // namespace linac::graph
