#pragma once
// The families of layers, as in model/graph/layers/families.h, and what they share. Immutable, thread-safe.

#include <string>
#include <vector>

#include "linac/model/onnx/layers.h"

namespace linac::onnx {

std::vector<NamedLayer> core_layers();
std::vector<NamedLayer> convolution_layers();
std::vector<NamedLayer> pooling_layers();
std::vector<NamedLayer> shape_layers();
std::vector<NamedLayer> image_layers();
std::vector<NamedLayer> merge_layers();
std::vector<NamedLayer> normalization_layers();
std::vector<NamedLayer> activation_layers();
std::vector<NamedLayer> sequence_layers();
std::vector<NamedLayer> attention_layers();
std::vector<NamedLayer> operation_nodes();
std::vector<NamedLayer> array_operations();
std::vector<NamedLayer> own_layers();

/// The function of that name (model/graph/layers/attributes.h, activation_names()); `channels` is the axis of softmax.
std::string activate(Emitter& emit, const std::string& name, const std::string& x, int64_t channels = -1);
/// The node's attribute "activation" on what it computed.
Value activate(const LayerCall& call, const Value& x);
/// With the bias first, if the layer has one: the weight of that number.
Value add_bias_and_activate(const LayerCall& call, const std::string& x, size_t bias = 1);

/// A number or a list of them from a node's attributes.
std::string constant(Emitter& emit, const nlohmann::json& value);

/// (N, steps) -> (N, steps, 1, ...) with as many axes as `rank`, the batch counted.
std::string expand_mask(Emitter& emit, const Value& mask, int64_t rank);

/// The axis along which a Concatenate joins, the batch counted.
int64_t joined_axis(const graph::Node& node);

/// The node's attribute "axis", the batch counted.
Shape axes_with_batch(const graph::Node& node, size_t rank);

/// [0, extents...]: a shape for Reshape that leaves the batch as it is.
Shape behind_batch(const Shape& shape);

/// x / sqrt(max(sum of squares along the axes, 1e-12))
std::string unit(Emitter& emit, const std::string& x, const Shape& axes);

}  // namespace linac::onnx
