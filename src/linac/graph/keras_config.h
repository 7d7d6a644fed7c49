#pragma once
// The member config.json of a Keras archive: a graph as Keras 3 serialises a Functional model (keras.io, "Save,
// serialize, and export models"); reading also takes Sequential models and the wiring as Keras 2 wrote it. Pure,
// thread-safe.

#include <string>
#include <vector>

#include "linac/graph/graph.h"

namespace linac::graph {

struct KerasConfig {
  Graph graph;  // shapes inferred
  /// Per node, its group in the weight store: "conv3d_1", the class name and the count of that class so far in the
  /// order of Keras's own layer list.
  std::vector<std::string> groups;
};

/// User error if the text is no JSON or no model, or for a layer, setting or wiring that linac does not have.
KerasConfig read_keras_config(const std::string& text);

struct WrittenKerasConfig {
  nlohmann::json config;
  std::vector<int> order;           // indices of nodes as Keras lists its layers
  std::vector<std::string> groups;  // of the nodes in `order`
};

/// User error for a node that Keras has no class for, or that no output needs.
WrittenKerasConfig write_keras_config(const Graph& graph);

}  // namespace linac::graph
