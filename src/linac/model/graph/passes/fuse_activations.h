#pragma once
// A layer and the relu behind it as one operation, for kernels that apply it to their results before they are written
// (model/nn/cuda_conv.h, model/kernels/batch_norm.h), or in place.

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Gives each convolution without an activation of its own, batch normalisation and addition, whose only reader is a
/// relu or leaky relu, the attribute "fused_negative_slope" (what multiplies negative results), and makes its reader
/// linear. No node goes, so that the layers' random numbers stay. Pure.
Graph fuse_activations(const Graph& graph);

}  // namespace linac::graph
