#pragma once
// Convolutions that LibTorch computes with the activation and the max pooling behind them (model/nn/max_pool.h): the
// bias and the activation are then applied to the largest cells alone, and the image is met once. On the CPU, behind
// chain_convolutions.

#include <optional>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Where only a max pooling reads a convolution, directly or behind relu or a leaky one, and its windows lie side by
/// side without padding: the convolution gets the attribute kFusedPool, the window, and "fused_negative_slope" for an
/// activation that was a layer of its own. Its value is then the pooled image, though its `output` remains the shape
/// of the convolution; the other layers become identities. No node goes. Pure.
Graph fuse_pooling(const Graph& graph);

inline constexpr char kFusedPool[] = "fused_pool_size";

/// What multiplies negative values, of relu, ReLU without bounds and LeakyReLU; none for other layers.
std::optional<double> slope_of_activation(const Node& node);

}  // namespace linac::graph
