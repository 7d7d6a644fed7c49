#pragma once
// The families of layers, as in model/graph/layers/families.h. Immutable, thread-safe.

#include <vector>

#include "linac/model/nn/layers.h"

namespace linac::nn {

std::vector<NamedLayer> core_layers();
std::vector<NamedLayer> random_layers();  // what is drawn in training: Dropout and its kin
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
std::vector<NamedLayer> part_layers();  // what goes between the parts of an image

/// The function of that name (model/graph/layers/attributes.h, activation_names()).
at::Tensor activate(const std::string& name, const at::Tensor& x);
/// The node's attribute "activation".
at::Tensor activate(const graph::Node& node, const at::Tensor& x);

/// What multiplies the layer's negative results since model/graph/passes/fuse_activations.h; 1 where nothing was fused.
double fused_negative_slope(const graph::Node& node);
/// The same applied in place: nothing else holds x, and no gradient needs it as it was.
at::Tensor fused_activation(const graph::Node& node, at::Tensor x);

/// (N, cells..., C) <-> (N, C, cells...): views.
at::Tensor channels_first(const at::Tensor& x);
at::Tensor channels_last(const at::Tensor& x);

/// The second weight of a node, undefined if it has none.
at::Tensor bias_of(const LayerCall& call);

/// The axis along which a Concatenate joins, the batch counted.
int64_t joined_axis(const LayerCall& call);

/// A number or a list of them from a node's attributes.
at::Tensor constant(const nlohmann::json& value, const at::Tensor& like);

/// (N, steps) -> (N, steps, 1, ...) with as many axes as `x`.
at::Tensor expand_mask(const at::Tensor& mask, const at::Tensor& x);

}  // namespace linac::nn
