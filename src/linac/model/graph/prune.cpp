#include "linac/model/graph/prune.h"

#include "linac/base/base/error.h"

namespace linac::graph {

Graph prune(const Graph& graph, const std::vector<int>& outputs) {
  const size_t count = graph.nodes.size();
  std::vector<bool> needed(count, false);
  for (const int output : outputs) {
    LINAC_CHECK(output >= 0 && static_cast<size_t>(output) < count);
    needed[static_cast<size_t>(output)] = true;
  }
  // Inputs are always earlier, so one pass from the back reaches everything.
  for (size_t i = count; i-- > 0;) {
    if (!needed[i]) continue;
    const Node& node = graph.nodes[i];
    for (const int input : node.inputs) needed[static_cast<size_t>(input)] = true;
    for (const int other : {node.mask, node.shares}) {
      if (other >= 0) needed[static_cast<size_t>(other)] = true;
    }
  }

  Graph kept;
  kept.name = graph.name;
  std::vector<int> renumbered(count, -1);
  for (size_t i = 0; i < count; ++i) {
    if (!needed[i]) continue;
    renumbered[i] = static_cast<int>(kept.nodes.size());
    Node node = graph.nodes[i];
    for (int& input : node.inputs) input = renumbered[static_cast<size_t>(input)];
    for (int* other : {&node.mask, &node.shares}) *other = *other < 0 ? -1 : renumbered[static_cast<size_t>(*other)];
    kept.nodes.push_back(std::move(node));
  }
  for (const int input : graph.inputs) {
    if (needed[static_cast<size_t>(input)]) kept.inputs.push_back(renumbered[static_cast<size_t>(input)]);
  }
  for (const int output : outputs) kept.outputs.push_back(renumbered[static_cast<size_t>(output)]);
  return kept;
}

Graph prune(const Graph& graph, const std::vector<std::string>& outputs) {
  std::vector<int> indices;
  for (const std::string& name : outputs) indices.push_back(graph.find(name));
  return prune(graph, indices);
}

}  // namespace linac::graph
