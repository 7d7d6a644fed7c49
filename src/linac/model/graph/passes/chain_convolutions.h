#pragma once
// Convolutions with what stands between them - padding, activation, batch normalisation, dropout, a last pooling - as
// one node: their images then stay in the blocked layout of the kernels from the first layer to the last, and no
// element-wise layer passes over memory by itself (model/nn/conv_chain.h).

#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Replaces each run of at least one stage [ZeroPadding3D | PartHalo] (Conv3D | UpsampleConv3D) [Activation |
/// LeakyReLU] [MaxPooling3D] [BatchNormalization] [Dropout], and an AveragePooling3D behind the last, by one node
/// ConvolutionChain. Every inner node has one reader, activations are linear or relu, and images have at most
/// kChainChannelsMax channels. The node's attribute "layers" holds the layers with their op, name, attributes and
/// "index" in `graph`; its weights are theirs, in the same order. Pure.
Graph chain_convolutions(const Graph& graph);

inline constexpr int64_t kChainChannelsMax = 32;  // beyond, matrix kernels do better

/// The layers of a ConvolutionChain with their shapes and weights. `input`: the shape of the chain's input.
std::vector<Node> chain_layers(const Node& chain, const Shape& input);

}  // namespace linac::graph
