#pragma once
// The member config.json of a Keras archive: a graph as Keras 3 serialises a Functional model (keras.io, "Save,
// serialize, and export models"); reading also takes Sequential models, models in models, layers that are called more
// than once, and the wiring as Keras 2 wrote it. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::keras {

/// Where the file lists a layer.
struct KerasPlace {
  std::string layer;         // the layer of the whole model that it is, or is a part of
  std::vector<int> numbers;  // in the list of layers of the whole model, of the model inside that layer, ...
};

struct KerasConfig {
  /// Shapes inferred. Models inside the model have become part of it, their layers called "model_layer"; the second
  /// call of a layer is a node of its own that shares the first one's weights.
  graph::Graph graph;
  /// Per node, its group in the weight store: "layers/conv3d_1", the class name and the count of that class so far in
  /// the order of Keras's own layer list; "layers/functional/layers/dense" in a model inside.
  std::vector<std::string> groups;
  std::vector<KerasPlace> places;  // of each node's layer
};

/// User error if the text is no JSON or no model, or for a layer, setting or wiring that linac does not have.
/// `keras_version`: what wrote it, where the text does not say so ("2.15.0"); Keras 3 if neither does.
KerasConfig read_keras_config(const std::string& text, const std::string& keras_version = "");

/// The nodes that hold weights, as the file lists their layers; nodes that share another's weights have none of their
/// own.
std::vector<int> weight_order(const KerasConfig& config);

struct WrittenKerasConfig {
  nlohmann::json config;
  std::vector<int> order;           // the nodes that hold weights, one a layer, as Keras lists its layers
  std::vector<std::string> groups;  // of the nodes in `order`
};

/// User error for a node that Keras has no class for, or that no output needs.
WrittenKerasConfig write_keras_config(const graph::Graph& graph);

}  // namespace linac::keras
