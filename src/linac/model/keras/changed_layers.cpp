#include "linac/model/keras/changed_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/keras/layers.h"

namespace linac::keras {
namespace {

using nlohmann::json;

json value_of(const std::string& text) {
  json value = json::parse(text, nullptr, false);
  return value.is_discarded() ? json(text) : value;
}

bool same_weights(const graph::Node& one, const graph::Node& other) {
  return std::ranges::equal(one.weights, other.weights, [](const graph::Weight& a, const graph::Weight& b) {
    return a.name == b.name && a.shape == b.shape && a.initializer == b.initializer;
  });
}

void set_all(graph::Graph& graph, const std::string& layer, const std::map<std::string, std::string>& settings) {
  const int found = graph.find(layer), shares = graph.nodes[static_cast<size_t>(found)].shares;
  const int first = shares < 0 ? found : shares;  // of the layer's calls
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    graph::Node& node = graph.nodes[i];
    if (static_cast<int>(i) != first && node.shares != first) continue;
    if (node.op == "InputLayer") graph::refuse(node, "is an input, whose shape is said in data.inputs");
    for (const auto& [key, text] : settings) set_keras_setting(node, key, value_of(text));
  }
}

// Those of layers that are not drawn are zeros, as a file may name initializers that linac does not have.
graph::WeightValues drawn_weights(graph::Graph graph, const std::vector<graph::Node>& before, uint64_t seed) {
  for (size_t i = 0; i < graph.nodes.size(); ++i)
    if (same_weights(before[i], graph.nodes[i]))
      for (graph::Weight& weight : graph.nodes[i].weights) weight.initializer = "zeros";
  graph::Parameters fresh = graph::Parameters::of(graph);
  graph::initialize(graph, seed, 0, fresh);
  return graph::to_weight_values(graph, fresh);
}

}  // namespace

ChangedModel with_layer_settings(KerasModel model, const LayerSettings& settings, uint64_t seed) {
  ChangedModel changed{.model = std::move(model), .drawn = {}};
  if (settings.empty()) return changed;
  graph::Graph& graph = changed.model.graph;
  const std::vector<graph::Node> before = graph.nodes;
  for (const auto& [layer, own] : settings) set_all(graph, layer, own);
  graph::infer_shapes(graph);
  graph::WeightValues values = drawn_weights(graph, before, seed);
  size_t from = 0, to = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    if (same_weights(before[i], node)) {
      for (size_t k = 0; k < node.weights.size(); ++k)
        values.values[to + k] = std::move(changed.model.weights.values[from + k]);
    } else {
      if (node.op == "Normalization") graph::refuse(node, "holds statistics of data of another shape");
      changed.drawn.push_back(node.name);
    }
    from += before[i].weights.size();
    to += node.weights.size();
  }
  changed.model.weights = std::move(values);
  return changed;
}

}  // namespace linac::keras
