#pragma once
// How each layer class of model/graph/layers.h is written in ONNX's operators: a table by families in layers/, as nn
// has one that computes them. Always in inference: what is random in training hands its input on. Immutable,
// thread-safe.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/model/onnx/emitter.h"

namespace linac::onnx {

struct LayerWeight {
  std::string name;  // "conv_1/kernel": of the layer that owns it
  Shape shape;
  std::span<const float> values;  // in Keras's axes
};

/// One node's call.
struct LayerCall {
  Emitter& emit;
  const graph::Node& node;
  std::vector<Value> inputs;
  std::vector<Value> masks;  // which steps count (bool), one an input; undefined where all do
  std::vector<LayerWeight> weights;
  Value own_mask;                      // of the output (output_mask)
  std::vector<Value>* more = nullptr;  // where outputs 1, 2, ... go; null in another layer

  const Value& mask() const { return masks[0]; }
  /// The tensor of an input as floats, in Keras's axes or with the channels first.
  std::string x(size_t input = 0, Layout layout = Layout::kChannelsLast) const;
  /// A tensor as the node's value.
  Value result(const std::string& tensor, Layout layout = Layout::kChannelsLast, Type type = Type::kFloat) const {
    return {tensor, node.output, type, layout};
  }
  /// The weight as a constant, in its own shape.
  std::string weight(size_t i) const { return emit.weight(weights[i].name, weights[i].shape, weights[i].values); }
  /// The weight with other axes: "how" is part of the constant's name.
  std::string permuted_weight(size_t i, const Shape& shape, const Shape& axes, const std::string& how) const;
};

using LayerFunction = Value (*)(const LayerCall&);
using NamedLayer = std::pair<std::string, LayerFunction>;

/// User error naming the layer for a class that ONNX cannot express.
LayerFunction layer_function(const graph::Node& node);

/// The mask of a node's output, as Keras hands it on (model/graph/masks.h); undefined for none.
Value output_mask(const LayerCall& call);

/// The values of an array with its axes in another order: axis i of the result is axes[i] of the array.
std::vector<float> permute(std::span<const float> values, const Shape& shape, const Shape& axes);

}  // namespace linac::onnx
