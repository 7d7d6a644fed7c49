#pragma once
// Nearest up-sampling followed by a convolution repeats the same products: inside a block of equal cells all taps see
// one value. The pass marks such pairs, and nn computes them as small phase kernels on the image before up-sampling
// (model/nn/upsample_conv.h).

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Replaces each UpSampling3D (nearest) whose only reader is a Conv3D with padding "valid" by one node UpsampleConv3D
/// that keeps the convolution's name, attributes and weights, and gains "size". Weights stay as they were, in the same
/// order. Pure.
Graph fold_upsample(const Graph& graph);

}  // namespace linac::graph
