#include "linac/model/graph/passes/rewrite.h"

#include <algorithm>

namespace linac::graph {

int readers(const Graph& graph, int node) {
  int count = static_cast<int>(std::count(graph.outputs.begin(), graph.outputs.end(), node));
  for (const Node& other : graph.nodes) {
    count += static_cast<int>(std::count(other.inputs.begin(), other.inputs.end(), node));
    count += (other.mask == node ? 1 : 0) + (other.shares == node ? 1 : 0);
  }
  return count;
}

Graph without(const Graph& graph, const std::vector<bool>& gone, const std::vector<int>& replaced) {
  Graph result;
  result.name = graph.name;
  std::vector<int> number(graph.nodes.size(), -1);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (gone[i]) continue;
    number[i] = static_cast<int>(result.nodes.size());
    result.nodes.push_back(graph.nodes[i]);
  }
  const auto renumber = [&](int node) { return number[static_cast<size_t>(replaced[static_cast<size_t>(node)])]; };
  for (Node& node : result.nodes) {
    std::transform(node.inputs.begin(), node.inputs.end(), node.inputs.begin(), renumber);
    for (int* other : {&node.mask, &node.shares}) *other = *other < 0 ? -1 : renumber(*other);
  }
  std::transform(graph.inputs.begin(), graph.inputs.end(), std::back_inserter(result.inputs), renumber);
  std::transform(graph.outputs.begin(), graph.outputs.end(), std::back_inserter(result.outputs), renumber);
  infer_shapes(result);
  return result;
}

}  // namespace linac::graph
