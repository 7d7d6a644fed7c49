#pragma once
// The table of layer classes that a graph can hold: the settings of Keras that each has, how its output shape and
// weights follow from them, and what it costs. A new class is one entry in the family of layers/ it belongs to (and one
// in model/nn/layers/, which runs it). Immutable, thread-safe.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// What becomes of one of Keras's settings of a class.
enum class SettingKind {
  kKept,         // becomes the attribute of the same name
  kInitializer,  // an object in the file, its name in the attribute ("he_uniform")
  kActivation,   // a name, null or an object in the file, a name in the attribute ("linear")
  kLayer,        // an inner layer: {"class_name", "config"} in the file, {"op", "name", "attributes"} in the attribute
  kDefaultOnly,  // anything but the default is refused; not an attribute
  kIgnored,      // has no effect on the computation; not written
};

struct Setting {
  std::string key;
  SettingKind kind;
  nlohmann::json otherwise;  // what a file that lacks the key means; null: the key is required or has no default
};

inline constexpr int kOneOrMore = -1;
inline constexpr int kOneAndStates = -2;  // a sequence, and perhaps the states that a recurrent layer begins with

/// A weight that is a node by itself, of a layer that python/linac/_keras has taken apart; Keras knows the class by
/// that module.
inline constexpr const char* kTracedWeight = "TracedWeight";

struct LayerKind {
  std::string op;  // as in Node
  int inputs;      // how many a node must have, or one of the above
  /// Fills node.output, node.more and node.weights from the attributes and the input shapes.
  std::function<void(Node& node, const std::vector<Shape>& inputs)> infer;
  /// Multiply-adds times two for one event, forward; `input` is the first input's shape.
  std::function<double(const Node& node, const Shape& input)> flop;
  /// Keras's settings; linac's own classes, which Keras does not have, are `own`.
  std::vector<Setting> settings = {};
  bool own = false;
  /// Mends the attributes as read from `config` where linac's differ; throws a user error for what linac cannot
  /// express. May be empty.
  std::function<void(Node& node, const nlohmann::json& config)> adapt = {};
};

/// Null if there is none of that name.
const LayerKind* find_layer_kind(const std::string& op);
/// Throws a user error naming the layer and the classes there are, if node.op is not one of them.
const LayerKind& layer_kind(const Node& node);
std::vector<std::string> layer_names();

/// Fills in outputs and weights by the kind; then what Keras says of every layer alike: the attribute "trainable", and
/// the rules of weight_rules.h. User error naming the layer.
void infer_layer(Node& node, const std::vector<Shape>& inputs);

/// SimpleRNN, GRU, LSTM, and Bidirectional, which wraps two of them: what can be given initial states.
bool has_states(const Node& node);

/// Whether training leaves the layer as it is.
bool is_frozen(const Node& node);

/// The node of the attribute of an outer layer (SettingKind::kLayer), with shapes and weights for one input.
Node inner_layer(const Node& outer, const std::string& attribute, const Shape& input);

using Extent3 = std::array<int64_t, 3>;

/// A Keras attribute that is an int or a triple of ints; user error if absent or of another form.
Extent3 extent3(const Node& node, const std::string& attribute);
/// Symmetric padding before and after each axis, of a node with op ZeroPadding3D: {{before, after}, ...}.
std::array<std::array<int64_t, 2>, 3> zero_padding(const Node& node);
/// What the attribute "padding" of a Conv3D adds: nothing, or same_padding.
std::array<std::array<int64_t, 2>, 3> own_padding(const Node& conv);
/// What padding "same" adds (stride 1): TensorFlow puts the odd cell behind.
std::array<std::array<int64_t, 2>, 3> same_padding(const Extent3& kernel);

}  // namespace linac::graph
