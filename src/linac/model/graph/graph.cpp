#include "linac/model/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers.h"

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

namespace {

/// A mask has the first axes of what it masks.
void check_mask(const Node& node, const Node& mask, const std::vector<Shape>& inputs) {
  const Shape& of_mask = mask.output;
  if (!inputs.empty() && of_mask.size() <= inputs[0].size() &&
      std::equal(of_mask.begin(), of_mask.end(), inputs[0].begin()))
    return;
  throw user_error(fmt::format("[graph] layer '{}' ({}): its mask '{}' has the shape {}, which does not fit {}",
                               node.name, node.op, mask.name, to_string(of_mask),
                               inputs.empty() ? "nothing" : to_string(inputs[0])));
}

/// Another call of a layer has none of its own, and needs those that the first has.
void share_weights(const Node& first, Node& node) {
  const auto same = [](const Weight& a, const Weight& b) { return a.shape == b.shape; };
  if (first.shares != -1 || first.op != node.op ||
      !std::equal(first.weights.begin(), first.weights.end(), node.weights.begin(), node.weights.end(), same)) {
    throw user_error(fmt::format("[graph] layer '{}' ({}) cannot share the weights of '{}': their shapes differ",
                                 node.name, node.op, first.name));
  }
  node.weights.clear();
}

/// What a node reads of another: its output, or the one that a Part names.
Shape shape_read(const Node& reader, const Node& source) {
  if (reader.op != kPart) return source.output;
  const size_t number = part_number(reader);
  if (number > source.more.size()) {
    throw user_error(fmt::format("[graph] layer '{}' ({}) has {}, and output {} is read", source.name, source.op,
                                 source.more.empty() ? "one output" : fmt::format("{} outputs", source.more.size() + 1),
                                 number));
  }
  return source.more[number - 1];
}

void check_bounded(const Node& node, const std::vector<Shape>& inputs) {
  const auto check = [&](const Shape& output) {
    if (is_bounded(output)) return;
    throw user_error(fmt::format("[graph] layer '{}' ({}) has the empty or too large output {} from {}", node.name,
                                 node.op, to_string(output), inputs.empty() ? "nothing" : to_string(inputs[0])));
  };
  check(node.output);
  for (const Shape& output : node.more) check(output);
  for (const Weight& weight : node.weights) {
    if (is_bounded(weight.shape)) continue;
    throw user_error(fmt::format("[graph] layer '{}' ({}) has the empty or too large weight '{}' {}", node.name,
                                 node.op, weight.name, to_string(weight.shape)));
  }
}

[[noreturn]] void refuse_lone(const Graph& graph, const std::string& layer) {
  throw user_error(
      fmt::format("[graph] {}: layer '{}' needs a value an event, and gets weights alone; add them to "
                  "something, or multiply it with them",
                  graph.name, layer));
}

/// Nodes that are the same for all events, with a batch axis of one: weights by themselves, and what keras.ops make of
/// them. User error where such a node goes into what needs one value an event.
void check_events(const Graph& graph) {
  std::vector<bool> lone(graph.nodes.size(), false);
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    const auto is_lone = [&](int input) { return lone[static_cast<size_t>(input)]; };
    const auto count = std::count_if(node.inputs.begin(), node.inputs.end(), is_lone);
    lone[i] = node.op == kTracedWeight || (count > 0 && count == static_cast<int64_t>(node.inputs.size()));
    if (node.op == kTracedWeight || (count == 0 && (node.mask < 0 || !is_lone(node.mask)))) continue;
    const bool passes = node.op.starts_with("ops.") || node.op == kPart;
    if (!passes || (!lone[i] && (node.op == "ops.Concatenate" || node.op == "ops.Stack")))
      refuse_lone(graph, node.name);
  }
  for (const int output : graph.outputs)
    if (lone[static_cast<size_t>(output)]) refuse_lone(graph, graph.nodes[static_cast<size_t>(output)].name);
}

}  // namespace

size_t part_number(const Node& part) {
  const auto found = part.attributes.find("index");
  if (found == part.attributes.end() || !found->is_number_integer() || *found < 1)
    throw user_error(fmt::format("[graph] '{}' (Part): 'index' must be 1 or more", part.name));
  return found->get<size_t>();
}

void infer_shapes(Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    Node& node = graph.nodes[i];
    std::vector<Shape> inputs;
    const auto check_earlier = [&](int other) {
      if (other >= 0 && static_cast<size_t>(other) < i) return;
      throw user_error(
          fmt::format("[graph] {}: layer '{}' reads a layer that is not before it (a cycle?)", graph.name, node.name));
    };
    for (const int input : node.inputs) {
      check_earlier(input);
      inputs.push_back(shape_read(node, graph.nodes[static_cast<size_t>(input)]));
    }
    if (node.mask != -1) {
      check_earlier(node.mask);
      check_mask(node, graph.nodes[static_cast<size_t>(node.mask)], inputs);
    }
    if (node.shares != -1) check_earlier(node.shares);
    const LayerKind& kind = layer_kind(node);
    if (kind.inputs < 0 ? inputs.empty() : static_cast<size_t>(kind.inputs) != inputs.size()) {
      throw user_error(fmt::format("[graph] layer '{}' ({}) takes {} inputs and has {}", node.name, node.op,
                                   kind.inputs < 0 ? "one or more" : fmt::format("{}", kind.inputs), inputs.size()));
    }
    infer_layer(node, inputs);
    check_bounded(node, inputs);
    if (node.shares != -1) share_weights(graph.nodes[static_cast<size_t>(node.shares)], node);
  }
  check_events(graph);
}

double forward_flop(const Graph& graph, int index) {
  const Node& node = graph.nodes[static_cast<size_t>(index)];
  if (node.op == kForeignModule || node.op == kForeignOutput) return 0;
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
