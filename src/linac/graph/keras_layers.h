#pragma once
// The table of Keras layer classes that an archive may hold: which of a class's settings linac keeps, which it only
// accepts at their default, and how the rest differs from linac's attributes. A new class is one entry in
// keras_layers.cpp. Immutable, thread-safe.

#include <string>
#include <vector>

#include "linac/graph/graph.h"

namespace linac::graph {

enum class KerasSetting {
  kKept,         // becomes the attribute of the same name
  kInitializer,  // an object in the file, its name in the attribute ("he_uniform")
  kDefaultOnly,  // anything but the default is refused; not an attribute
  kIgnored,      // has no effect where the other settings have their defaults; not written
};

struct KerasLayerSetting {
  std::string key;
  KerasSetting kind;
  nlohmann::json otherwise;  // what a file that lacks the key means; null: the key is required or has no default
};

struct KerasLayer {
  std::string class_name;
  std::vector<KerasLayerSetting> settings;
  /// Turns the attributes as read into linac's, e.g. ReLU into Activation; null where they are the same. Throws a user
  /// error for what linac cannot express.
  void (*adapt)(Node& node, const nlohmann::json& config);
};

/// The node of a layer of the file: `class_name` and its `config` object, which also names the layer. No inputs yet.
/// User error naming layer and class for an unknown class or setting.
Node read_keras_layer(const std::string& class_name, const nlohmann::json& config);

/// Keras's config object of the node, as every Keras 3 accepts it. User error if Keras has no such class.
nlohmann::json write_keras_layer(const Node& node);

std::vector<std::string> keras_class_names();

/// "Conv3D" -> "conv3d", "LeakyReLU" -> "leaky_re_lu": how Keras derives the name of a layer's group of weights.
std::string keras_snake_case(const std::string& class_name);

}  // namespace linac::graph
