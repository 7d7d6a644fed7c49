#include "linac/model/keras/keras2_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "linac/base/base/error.h"

namespace linac::keras {
namespace {

using Names = std::vector<std::string>;

// "model/dense/kernel:0" -> kernel; TensorFlow 1 numbers what is made twice, "kernel_1:0".
std::string role_of(const std::string& name) {
  std::string role = name.substr(name.rfind('/') + 1);
  role = role.substr(0, role.find(':'));
  const size_t last = role.find_last_not_of("0123456789");
  if (last != std::string::npos && last + 1 < role.size() && role[last] == '_') role.erase(last);
  return role;
}

// What Keras calls a weight, without the part of a layer that it belongs to.
std::string role_of(const graph::Node& node, const graph::Weight& weight) {
  if (node.op.starts_with("DepthwiseConv") && weight.name == "kernel") return "depthwise_kernel";
  for (const std::string part : {"forward_", "backward_", "query_", "key_", "value_", "output_"}) {
    const bool wraps = node.op == "Bidirectional" || node.op == "MultiHeadAttention";
    if (wraps && weight.name.starts_with(part)) return weight.name.substr(part.size());
  }
  return weight.name;
}

// The name may be of any form, but not that of another weight of the layer.
bool fits(const std::string& name, const graph::Node& node, const graph::Weight& weight) {
  const std::string role = role_of(name);
  return role == role_of(node, weight) ||
         std::none_of(node.weights.begin(), node.weights.end(),
                      [&](const graph::Weight& other) { return role == role_of(node, other); });
}

struct Slot {
  size_t node, weight;
};

/// The nodes with weights that are one layer of the whole model, in the order of the file's lists.
using Parts = std::map<std::vector<int>, size_t>;

/// As Keras lists the weights of a layer: what is trained, then the rest.
std::vector<Slot> slots_of(const graph::Graph& graph, const Parts& parts) {
  std::vector<Slot> slots;
  for (const bool trainable : {true, false}) {
    for (const auto& [place, node] : parts) {
      const std::vector<graph::Weight>& weights = graph.nodes[node].weights;
      for (size_t i = 0; i < weights.size(); ++i) {
        if (weights[i].trainable == trainable) slots.push_back({node, i});
      }
    }
  }
  return slots;
}

void refuse_layers_without_nodes(const Hdf5Image& file, const std::string& group,
                                 const std::map<std::string, Parts>& layers) {
  const Names listed = file.list(group, "layer_names").value_or(Names{});
  for (const std::string& layer : listed) {
    if (layers.contains(layer)) continue;
    const auto names = file.list(group + "/" + layer, "weight_names");
    if (!names || names->empty()) continue;
    throw user_error(
        fmt::format("[keras] the file has weights of a layer '{}' ({}), which the model has not; save "
                    "architecture and weights of the same model",
                    layer, fmt::join(*names, ", ")));
  }
}

}  // namespace

std::optional<std::string> find_keras2_weights(const Hdf5Image& file) {
  for (const char* group : {"model_weights", ""}) {
    if (file.list(group, "layer_names")) return group;
  }
  return std::nullopt;
}

graph::WeightValues read_keras2_weights(Hdf5Image& file, const std::string& group, const KerasConfig& config) {
  const graph::Graph& graph = config.graph;
  std::map<std::string, Parts> layers;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].weights.empty()) layers[config.places[i].layer][config.places[i].numbers] = i;
  }
  refuse_layers_without_nodes(file, group, layers);
  std::vector<std::vector<std::vector<float>>> values(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) values[i].resize(graph.nodes[i].weights.size());
  for (const auto& [layer, parts] : layers) {
    const std::string place = group + "/" + layer;
    const std::vector<Slot> slots = slots_of(graph, parts);
    const auto names = file.list(place, "weight_names");
    if (!names || names->size() != slots.size()) {
      throw user_error(fmt::format(
          "[keras] layer '{}' has {} weights and the file {}; save architecture and weights of the same model, built",
          layer, slots.size(), names ? fmt::format("{} ({})", names->size(), fmt::join(*names, ", ")) : "none"));
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      const graph::Node& node = graph.nodes[slots[i].node];
      const graph::Weight& weight = node.weights[slots[i].weight];
      const std::string& name = (*names)[i];
      if (!fits(name, node, weight)) {
        throw user_error(fmt::format("[keras] layer '{}' ({}): the file has '{}' where weight '{}' is expected",
                                     node.name, node.op, name, weight.name));
      }
      values[slots[i].node][slots[i].weight] = file.read_array(place + "/" + name, node, weight);
    }
  }
  graph::WeightValues all;
  for (auto& of_node : values) std::move(of_node.begin(), of_node.end(), std::back_inserter(all.values));
  return all;
}

}  // namespace linac::keras
