#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "linac/base/base/error.h"
#include "linac/model/graph/calls.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/masks.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/keras/config.h"
#include "linac/model/keras/layers.h"

namespace linac::keras {
namespace {

using nlohmann::json;

constexpr const char* kModule = "linac_keras";  // the name that Keras finds it by: python/linac/_keras/weight.py

/// The node that computes what a node stands for: a Part is an output of another.
size_t maker(const graph::Graph& graph, int node) {
  const graph::Node& made = graph.nodes[static_cast<size_t>(node)];
  return static_cast<size_t>(made.op == graph::kPart ? made.inputs.at(0) : node);
}

// Keras numbers a model's layers by the depth below the outputs and, within a depth, by the order in which a walk from
// the outputs meets them (keras/src/ops/function.py, map_graph). The names of the weight groups follow that order, so
// the file has to.
class KerasOrder {
 public:
  explicit KerasOrder(const graph::Graph& graph)
      : graph_(graph), met_(graph.nodes.size(), -1), depth_(graph.nodes.size(), 0) {
    for (const int output : graph.outputs) walk(static_cast<int>(maker(graph, output)));
    // Inputs are always earlier, so a node's depth is final when its turn comes.
    for (size_t i = graph.nodes.size(); i-- > 0;) {
      if (graph.nodes[i].op == graph::kPart) continue;
      for (const int input : read_by(graph.nodes[i])) {
        int& depth = depth_[static_cast<size_t>(input)];
        depth = std::max(depth, depth_[i] + 1);
      }
    }
  }

  /// The first call of each layer, in the order of the layers.
  std::vector<int> order() const {
    std::vector<int> order;
    std::vector<int> met = met_, depth = depth_;  // of a layer: the first and the deepest of its calls
    for (size_t i = 0; i < graph_.nodes.size(); ++i) {
      const graph::Node& node = graph_.nodes[i];
      if (node.op == graph::kPart) continue;
      if (met_[i] < 0 && node.op != "InputLayer") {
        throw user_error(fmt::format("[keras] layer '{}' ({}) leads to no output; leave it out of the exported graph",
                                     node.name, node.op));
      }
      if (node.shares < 0) {
        order.push_back(static_cast<int>(i));
        continue;
      }
      const auto first = static_cast<size_t>(node.shares);
      met[first] = std::min(met[first], met_[i]);
      depth[first] = std::max(depth[first], depth_[i]);
    }
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const auto i = static_cast<size_t>(a), j = static_cast<size_t>(b);
      return depth[i] != depth[j] ? depth[i] > depth[j] : met[i] < met[j];
    });
    return order;
  }

 private:
  std::vector<int> read_by(const graph::Node& node) const {
    std::vector<int> inputs = node.inputs;
    if (node.mask >= 0) inputs.push_back(node.mask);
    for (int& input : inputs) input = static_cast<int>(maker(graph_, input));
    return inputs;
  }

  // A stack of its own: models are deeper than the processor's stack is trusted to be. Depth first, in the order of the
  // inputs, numbering each node when it is first met.
  void walk(int output) {
    std::vector<int> stack{output};
    while (!stack.empty()) {
      const auto node = static_cast<size_t>(stack.back());
      stack.pop_back();
      if (met_[node] >= 0) continue;
      met_[node] = next_++;
      const std::vector<int> inputs = read_by(graph_.nodes[node]);
      stack.insert(stack.end(), inputs.rbegin(), inputs.rend());
    }
  }

  const graph::Graph& graph_;
  std::vector<int> met_, depth_;
  int next_ = 0;
};

/// A graph's layers and calls in Keras's words.
class Wiring {
 public:
  explicit Wiring(const graph::Graph& graph)
      : graph_(graph), open_(graph::following_axes(graph)), calls_(graph.nodes.size()) {
    for (size_t i = 0; i < graph.nodes.size(); ++i) calls_[first_of(i)].push_back(i);
  }

  json layer(size_t first) const {
    const graph::Node& node = graph_.nodes[first];
    json layer{{"module", module_of(node)},
               {"class_name", class_of(node)},
               {"config", write_keras_layer(node)},
               {"registered_name", registered_name(node)},
               {"name", node.name},
               {"inbound_nodes", json::array()}};
    if (node.op == "InputLayer") return layer;
    for (const size_t call : calls_[first]) layer["inbound_nodes"].push_back(inbound_node(graph_.nodes[call]));
    if (!is_operation(node)) layer["build_config"] = build_config(node);
    return layer;
  }

  json references(const std::vector<int>& nodes) const {
    json result = json::array();
    for (const int node : nodes) result.push_back(history(node));
    return result;
  }

 private:
  size_t first_of(size_t i) const {
    return graph_.nodes[i].shares < 0 ? i : static_cast<size_t>(graph_.nodes[i].shares);
  }

  /// [layer, number of its call, output]
  json history(int node) const {
    const graph::Node& read = graph_.nodes[static_cast<size_t>(node)];
    const size_t i = maker(graph_, node), output = read.op == graph::kPart ? graph::part_number(read) : 0;
    const auto& calls = calls_[first_of(i)];
    const auto call = std::find(calls.begin(), calls.end(), i) - calls.begin();
    return json::array({graph_.nodes[first_of(i)].name, call, output});
  }

  /// With the batch's axis, and null for sizes that are open.
  json keras_shape(int node) const {
    const auto i = static_cast<size_t>(node);
    json result = json::array({nullptr});
    for (size_t axis = 0; axis < open_[i].size(); ++axis)
      result.push_back(open_[i][axis] ? json() : json(graph_.nodes[i].output[axis]));
    return result;
  }

  json tensor(int node) const {
    return {{"class_name", "__keras_tensor__"},
            {"config", {{"shape", keras_shape(node)}, {"dtype", "float32"}, {"keras_history", history(node)}}}};
  }

  /// Layers that join take one argument, a list.
  static bool joins(const graph::Node& node) {
    static const std::vector<std::string> names{"Add",     "Subtract", "Multiply",    "Average",
                                                "Maximum", "Minimum",  "Concatenate", "Dot"};
    return std::find(names.begin(), names.end(), node.op) != names.end();
  }

  json inbound_node(const graph::Node& node) const {
    json tensors = json::array(), named = json::object();
    for (const int input : node.inputs) tensors.push_back(tensor(input));
    if (graph::has_attention_mask(node)) {
      named["attention_mask"] = tensors.back();
      tensors.erase(tensors.size() - 1);
    }
    if (node.op == "MultiHeadAttention" && tensors.size() == 3) {
      named["key"] = tensors[2];
      tensors.erase(2);
    }
    if (graph::has_states(node) && tensors.size() > 1) {
      named["initial_state"] = json(std::vector<json>(tensors.begin() + 1, tensors.end()));
      tensors.erase(tensors.begin() + 1, tensors.end());
    }
    for (const char* name : {"use_causal_mask", "return_attention_scores"})
      if (node.attributes.value(name, false)) named[name] = true;
    if (node.mask >= 0) named["mask"] = tensor(node.mask);
    if (is_operation(node)) {
      json arguments = node.attributes.value("arguments", json::array());
      size_t next = 0;
      for (json& argument : arguments) {
        if (argument.is_null()) argument = tensors.at(next++);
      }
      tensors = arguments;
    }
    const bool one_list = joins(node) || node.op == "ops.Concatenate" || node.op == "ops.Stack";
    return {{"args", one_list ? json::array({tensors}) : tensors}, {"kwargs", named}};
  }

  json build_config(const graph::Node& node) const {
    json shapes = json::array();
    for (const int input : node.inputs) shapes.push_back(keras_shape(input));
    if (node.op == "MultiHeadAttention") {
      return {{"shapes_dict",
               {{"query_shape", shapes[0]},
                {"value_shape", shapes[1]},
                {"key_shape", shapes.size() > (graph::has_attention_mask(node) ? 3 : 2) ? shapes[2] : shapes[1]}}}};
    }
    return {{"input_shape", joins(node) ? shapes : shapes.at(0)}};
  }

  static std::string class_of(const graph::Node& node) { return is_operation(node) ? node.op.substr(4) : node.op; }

  static json registered_name(const graph::Node& node) {
    if (node.op == graph::kTracedWeight) return fmt::format("{}>{}", kModule, node.op);
    return is_operation(node) ? json(class_of(node)) : json();
  }

  static std::string module_of(const graph::Node& node) {
    if (node.op == graph::kTracedWeight) return kModule;
    if (!is_operation(node)) return "keras.layers";
    static const std::map<std::string, std::string> elsewhere{
        {"Cast", "core"}, {"Unstack", "core"},  {"TopK", "math"},    {"Relu", "nn"},  {"Sigmoid", "nn"},
        {"Silu", "nn"},   {"Softplus", "nn"},   {"LeakyRelu", "nn"}, {"Elu", "nn"},   {"Selu", "nn"},
        {"Gelu", "nn"},   {"Softmax", "nn"},    {"Rsqrt", "math"},   {"Erf", "math"}, {"Norm", "linalg"},
        {"OneHot", "nn"}, {"Logsumexp", "math"}};
    const auto found = elsewhere.find(class_of(node));
    return "keras.src.ops." + (found == elsewhere.end() ? "numpy" : found->second);
  }

  const graph::Graph& graph_;
  const std::vector<std::vector<bool>> open_;
  std::vector<std::vector<size_t>> calls_;  // by the first
};

}  // namespace

WrittenKerasConfig write_keras_config(const graph::Graph& graph) {
  WrittenKerasConfig written;
  for (const graph::Node& node : graph.nodes) {
    if (!node.attributes.value("mask_with_states", false) || node.mask >= 0 || !graph::has_mask(graph, node.inputs[0]))
      continue;
    throw user_error(
        fmt::format("[keras] layer '{}' ({}) follows a mask and is given initial states; Keras 3 does not do both, so "
                    "the model of Keras 2 cannot be written",
                    node.name, node.op));
  }
  const Wiring wiring(graph);
  json layers = json::array();
  std::map<std::string, int> count;
  for (const int index : KerasOrder(graph).order()) {
    const graph::Node& node = graph.nodes[static_cast<size_t>(index)];
    layers.push_back(wiring.layer(static_cast<size_t>(index)));
    if (is_operation(node)) continue;
    const std::string group = keras_snake_case(node.op);
    const int before = count[group]++;
    written.order.push_back(index);
    written.groups.push_back("layers/" + (before == 0 ? group : fmt::format("{}_{}", group, before)));
  }
  written.config = {{"module", "keras.src.models.functional"},
                    {"class_name", "Functional"},
                    {"config",
                     {{"name", graph.name},
                      {"trainable", true},
                      {"layers", layers},
                      {"input_layers", wiring.references(graph.inputs)},
                      {"output_layers", wiring.references(graph.outputs)}}},
                    {"registered_name", "Functional"},
                    {"build_config", {{"input_shape", nullptr}}}};
  return written;
}

}  // namespace linac::keras
