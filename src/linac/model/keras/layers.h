#pragma once
// A layer's config object in Keras's file, to and from a node, by the settings in the table of layer classes
// (layers.h). Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::keras {

/// The node of a layer of the file: `class_name` and its `config` object, which also names the layer. No inputs yet.
/// User error naming layer and class for an unknown class or setting.
graph::Node read_keras_layer(const std::string& class_name, const nlohmann::json& config);

/// The same of a node of keras.ops.
graph::Node read_keras_operation(const std::string& class_name, const nlohmann::json& config);

/// Sets one of Keras's settings of a node that was read, as a file would say it; of a layer that wraps others also one
/// of theirs. Shapes and weights stay as they were inferred before. User error for a setting that the class does not
/// have, with those it has.
void set_keras_setting(graph::Node& node, const std::string& key, const nlohmann::json& value);

/// Keras's config object of the node, as every Keras 3 accepts it. User error if Keras has no such class.
nlohmann::json write_keras_layer(const graph::Node& node);

std::vector<std::string> keras_class_names();

bool is_operation(const graph::Node& node);

/// "Conv3D" -> "conv3d", "LeakyReLU" -> "leaky_re_lu": how Keras derives the name of a layer's group of weights.
std::string keras_snake_case(const std::string& class_name);
/// "he_uniform" -> "HeUniform"
std::string keras_class_name(const std::string& snake_case);

}  // namespace linac::keras
