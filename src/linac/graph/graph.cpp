#include "linac/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <functional>
#include <numeric>

#include "linac/base/error.h"
#include "linac/graph/layers.h"

namespace linac::graph {

int64_t elements(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

bool is_bounded(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t extent : shape) {
    if (extent <= 0 || extent > kElementsMax / product) return false;
    product *= extent;
  }
  return true;
}

std::string to_string(const Shape& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

int Graph::find(const std::string& wanted) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].name == wanted) return static_cast<int>(i);
    names.push_back(nodes[i].name);
  }
  throw user_error(fmt::format("[graph] {}: no layer '{}' (found: {})", name, wanted, fmt::join(names, ", ")));
}

void infer_shapes(Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    std::vector<Shape> inputs;
    for (const int input : node.inputs) {
      if (input < 0 || static_cast<size_t>(input) >= i) {
        throw user_error(fmt::format("[graph] {}: layer '{}' reads a layer that is not before it (a cycle?)",
                                     graph.name, node.name));
      }
      inputs.push_back(graph.nodes[static_cast<size_t>(input)].output);
    }
    const LayerKind& kind = layer_kind(node);
    if (kind.inputs >= 0 && static_cast<size_t>(kind.inputs) != inputs.size()) {
      throw user_error(fmt::format("[graph] layer '{}' ({}) takes {} inputs and has {}", node.name, node.op,
                                   kind.inputs, inputs.size()));
    }
    node.weights.clear();
    kind.infer(node, inputs);
    if (!is_bounded(node.output)) {
      throw user_error(fmt::format("[graph] layer '{}' ({}) has the empty or too large output {} from {}", node.name,
                                   node.op, to_string(node.output), inputs.empty() ? "nothing" : to_string(inputs[0])));
    }
    for (const Weight& weight : node.weights) {
      if (is_bounded(weight.shape)) continue;
      throw user_error(fmt::format("[graph] layer '{}' ({}) has the empty or too large weight '{}' {}", node.name,
                                   node.op, weight.name, to_string(weight.shape)));
    }
  }
}

double forward_flop(const Graph& graph, int index) {
  const Node& node = graph.nodes[static_cast<size_t>(index)];
  const Shape& input = node.inputs.empty() ? node.output : graph.nodes[static_cast<size_t>(node.inputs[0])].output;
  return layer_kind(node).flop(node, input);
}

double forward_flop(const Graph& graph) {
  double sum = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) sum += forward_flop(graph, static_cast<int>(i));
  return sum;
}

int64_t count_weights(const Graph& graph, bool trainable_only) {
  int64_t sum = 0;
  for (const Node& node : graph.nodes) {
    for (const Weight& weight : node.weights) {
      if (weight.trainable || !trainable_only) sum += elements(weight.shape);
    }
  }
  return sum;
}

int Builder::input(const std::string& name, const Shape& shape) {
  const int node = add("InputLayer", name, {}, {{"shape", shape}});
  graph_.inputs.push_back(node);
  return node;
}

int Builder::add(const std::string& op, const std::string& name, std::vector<int> inputs, nlohmann::json attributes) {
  graph_.nodes.push_back({name, op, std::move(attributes), std::move(inputs), {}, {}});
  return static_cast<int>(graph_.nodes.size()) - 1;
}

Graph Builder::finish(std::vector<int> outputs) {
  graph_.outputs = std::move(outputs);
  infer_shapes(graph_);
  return std::move(graph_);
}

}  // namespace linac::graph
