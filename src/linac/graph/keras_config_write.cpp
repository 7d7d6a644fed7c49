#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/base/error.h"
#include "linac/graph/keras_config.h"
#include "linac/graph/keras_layers.h"

namespace linac::graph {
namespace {

using nlohmann::json;

// Keras numbers a model's layers by the depth below the outputs and, within a depth, by the order in which a walk from
// the outputs meets them (keras/src/ops/function.py, map_graph). The names of the weight groups follow that order, so
// the file has to.
class KerasOrder {
 public:
  explicit KerasOrder(const Graph& graph) : graph_(graph), met_(graph.nodes.size(), -1), depth_(graph.nodes.size(), 0) {
    for (const int output : graph.outputs) walk(output);
    // Inputs are always earlier, so a node's depth is final when its turn comes.
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      for (const int input : graph.nodes[i].inputs) {
        int& depth = depth_[static_cast<size_t>(input)];
        depth = std::max(depth, depth_[i] + 1);
      }
    }
  }

  std::vector<int> order() const {
    std::vector<int> order;
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const Node& node = graph_.nodes[i];
      if (met_[i] < 0 && node.op != "InputLayer") {
        throw user_error(fmt::format("[keras] layer '{}' ({}) leads to no output; leave it out of the exported graph",
                                     node.name, node.op));
      }
      order.push_back(static_cast<int>(i));
    }
    std::stable_sort(order.begin(), order.end(), [this](int a, int b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      return depth_[i] != depth_[j] ? depth_[i] > depth_[j] : met_[i] < met_[j];
    });
    return order;
  }

 private:
  // A stack of its own: models are deeper than the processor's stack is trusted to be. Depth first, in the order of the
  // inputs, numbering each node when it is first met.
  void walk(int output) {
    std::vector<int> stack{output};
    while (!stack.empty()) {
      const auto node = static_cast<size_t>(stack.back());
      stack.pop_back();
      if (met_[node] >= 0) continue;
      met_[node] = next_++;
      const std::vector<int>& inputs = graph_.nodes[node].inputs;
      stack.insert(stack.end(), inputs.rbegin(), inputs.rend());
    }
  }

  const Graph& graph_;
  std::vector<int> met_, depth_;
  int next_ = 0;
};

json with_batch_axis(const Shape& shape) {
  json result = json::array({nullptr});
  for (const int64_t size : shape) result.push_back(size);
  return result;
}

json tensor_of(const Node& node) {
  return {{"class_name", "__keras_tensor__"},
          {"config",
           {{"shape", with_batch_axis(node.output)},
            {"dtype", "float32"},
            {"keras_history", json::array({node.name, 0, 0})}}}};
}

json inbound_nodes(const Graph& graph, const Node& node) {
  if (node.inputs.empty()) return json::array();
  json tensors = json::array();
  for (const int input : node.inputs) tensors.push_back(tensor_of(graph.nodes[static_cast<size_t>(input)]));
  // Layers that join take one argument, a list.
  const bool joins = node.op == "Concatenate";
  return json::array({{{"args", joins ? json::array({tensors}) : tensors}, {"kwargs", json::object()}}});
}

json build_config(const Graph& graph, const Node& node) {
  json shapes = json::array();
  for (const int input : node.inputs) shapes.push_back(with_batch_axis(graph.nodes[static_cast<size_t>(input)].output));
  return {{"input_shape", node.op == "Concatenate" ? shapes : shapes.at(0)}};
}

json write_layer(const Graph& graph, const Node& node) {
  json layer{{"module", "keras.layers"},   {"class_name", node.op}, {"config", write_keras_layer(node)},
             {"registered_name", nullptr}, {"name", node.name},     {"inbound_nodes", inbound_nodes(graph, node)}};
  if (!node.inputs.empty()) layer["build_config"] = build_config(graph, node);
  return layer;
}

json references(const Graph& graph, const std::vector<int>& nodes) {
  json result = json::array();
  for (const int node : nodes) result.push_back({graph.nodes[static_cast<size_t>(node)].name, 0, 0});
  return result;
}

}  // namespace

WrittenKerasConfig write_keras_config(const Graph& graph) {
  WrittenKerasConfig written;
  written.order = KerasOrder(graph).order();
  json layers = json::array();
  std::map<std::string, int> count;
  for (const int index : written.order) {
    const Node& node = graph.nodes[static_cast<size_t>(index)];
    layers.push_back(write_layer(graph, node));
    const std::string group = keras_snake_case(node.op);
    const int before = count[group]++;
    written.groups.push_back(before == 0 ? group : fmt::format("{}_{}", group, before));
  }
  written.config = {{"module", "keras.src.models.functional"},
                    {"class_name", "Functional"},
                    {"config",
                     {{"name", graph.name},
                      {"trainable", true},
                      {"layers", layers},
                      {"input_layers", references(graph, graph.inputs)},
                      {"output_layers", references(graph, graph.outputs)}}},
                    {"registered_name", "Functional"},
                    {"build_config", {{"input_shape", nullptr}}}};
  return written;
}

}  // namespace linac::graph
