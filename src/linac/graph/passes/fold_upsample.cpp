#include "linac/graph/passes/fold_upsample.h"

#include <algorithm>

namespace linac::graph {
namespace {

bool is_nearest_upsampling(const Node& node) {
  return node.op == "UpSampling3D" && node.attributes.value("interpolation", "nearest") == "nearest";
}

int readers(const Graph& graph, int node) {
  int count = static_cast<int>(std::count(graph.outputs.begin(), graph.outputs.end(), node));
  for (const Node& other : graph.nodes)
    count += static_cast<int>(std::count(other.inputs.begin(), other.inputs.end(), node));
  return count;
}

bool folds(const Graph& graph, const Node& conv) {
  if (conv.op != "Conv3D" || conv.attributes.value("padding", "valid") != "valid") return false;
  const int source = conv.inputs.at(0);
  return is_nearest_upsampling(graph.nodes[static_cast<size_t>(source)]) && readers(graph, source) == 1;
}

}  // namespace

Graph fold_upsample(const Graph& graph) {
  Graph result;
  result.name = graph.name;
  std::vector<bool> gone(graph.nodes.size(), false);
  for (const Node& node : graph.nodes) {
    if (folds(graph, node)) gone[static_cast<size_t>(node.inputs[0])] = true;
  }
  std::vector<int> renumbered(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (gone[i]) continue;
    Node node = graph.nodes[i];
    if (!node.inputs.empty() && gone[static_cast<size_t>(node.inputs[0])]) {
      const Node& upsampling = graph.nodes[static_cast<size_t>(node.inputs[0])];
      node.op = "UpsampleConv3D";
      node.attributes["size"] = upsampling.attributes.at("size");
      node.inputs = upsampling.inputs;
    }
    for (int& input : node.inputs) input = renumbered[static_cast<size_t>(input)];
    renumbered[i] = static_cast<int>(result.nodes.size());
    result.nodes.push_back(std::move(node));
  }
  for (const int input : graph.inputs) result.inputs.push_back(renumbered[static_cast<size_t>(input)]);
  for (const int output : graph.outputs) result.outputs.push_back(renumbered[static_cast<size_t>(output)]);
  infer_shapes(result);
  return result;
}

}  // namespace linac::graph
