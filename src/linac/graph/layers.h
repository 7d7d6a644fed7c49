#pragma once
// The table of layer kinds that a graph can hold: how each infers its output shape and weights, and what it costs.
// A new layer is one entry in layers.cpp (and one in nn/layers.cpp, which runs it). Immutable, thread-safe.

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "linac/graph/graph.h"

namespace linac::graph {

struct LayerKind {
  std::string op;  // Keras's class name
  int inputs;      // how many a node must have; -1: one or more
  /// Fills node.output and node.weights from the attributes and the input shapes.
  std::function<void(Node& node, const std::vector<Shape>& inputs)> infer;
  /// Multiply-adds times two for one event, forward; `input` is the first input's shape.
  std::function<double(const Node& node, const Shape& input)> flop;
};

/// Throws a user error naming the layer and the classes there are, if node.op is not one of them.
const LayerKind& layer_kind(const Node& node);
std::vector<std::string> layer_names();

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
