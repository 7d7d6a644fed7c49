#include "linac/model/graph/output_units.h"

#include <algorithm>
#include <string>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/model/graph/prune.h"

namespace linac::graph {
namespace {

constexpr const char* kScaled = "_scaled";
constexpr const char* kUnscaled = "_unscaled";

Node& node_of(Graph& graph, int index) {
  return graph.nodes[static_cast<size_t>(index)];
}

/// Whether in_units_of_files() has made the output.
bool is_made(Graph& graph, int output) {
  const Node& node = node_of(graph, output);
  if (node.op != "Rescaling") return false;
  const std::string& read = node_of(graph, node.inputs.at(0)).name;
  return read == node.name + kScaled || node.name == read + kUnscaled;
}

bool has_name(const Graph& graph, const std::string& name) {
  return std::ranges::find(graph.nodes, name, &Node::name) != graph.nodes.end();
}

/// Whether its name is the output's alone: not that of an input, of a call or part of another layer, or of two outputs.
bool can_be_renamed(Graph& graph, int output) {
  const Node& node = node_of(graph, output);
  const bool called_again = std::ranges::any_of(graph.nodes, [&](const Node& other) { return other.shares == output; });
  return node.op != "InputLayer" && node.op != kPart && node.shares < 0 && !called_again &&
         std::ranges::count(graph.outputs, output) == 1 && !has_name(graph, node.name + kScaled);
}

nlohmann::json number_or_list(const std::vector<float>& values) {
  return values.size() == 1 ? nlohmann::json(values.front()) : nlohmann::json(values);
}

}  // namespace

Graph in_units_of_files(Graph graph, const std::vector<OutputUnits>& units) {
  LINAC_CHECK(units.size() == graph.outputs.size());
  for (size_t i = 0; i < units.size(); ++i) {
    const int output = graph.outputs[i];
    if (units[i].empty() || is_made(graph, output)) continue;
    Node made;
    made.op = "Rescaling";
    made.attributes = {{"scale", number_or_list(units[i].scale)}, {"offset", number_or_list(units[i].offset)}};
    made.inputs = {output};
    Node& read = node_of(graph, output);
    made.output = read.output;
    if (can_be_renamed(graph, output)) {
      made.name = std::exchange(read.name, read.name + kScaled);
    } else {
      made.name = read.name + kUnscaled;
      for (int number = 1; has_name(graph, made.name); ++number)
        made.name = read.name + "_" + std::to_string(number) + kUnscaled;
    }
    graph.outputs[i] = static_cast<int>(graph.nodes.size());
    graph.nodes.push_back(std::move(made));
  }
  return graph;
}

Graph in_units_of_training(Graph graph, const std::vector<bool>& outputs, std::vector<int>& nodes) {
  LINAC_CHECK(outputs.size() == graph.outputs.size());
  bool changed = false;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (!outputs[i] || !is_made(graph, graph.outputs[i])) continue;
    Node& made = node_of(graph, graph.outputs[i]);
    graph.outputs[i] = made.inputs.at(0);
    Node& read = node_of(graph, graph.outputs[i]);
    if (read.name == made.name + kScaled) read.name = std::exchange(made.name, read.name);
    changed = true;
  }
  if (!changed) return graph;
  Graph left = prune(graph, graph.outputs);
  for (int& node : nodes) node = left.find(node_of(graph, node).name);
  return left;
}

}  // namespace linac::graph
