#pragma once
// Batch normalisations that a convolution can take over when a model is applied: by then they only scale and shift its
// channels.

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Of node i the BatchNormalization that alone reads it, where node i is a convolution without an activation and the
/// normalised axis is that of its channels; -1 elsewhere. Behind the passes that fuse. Pure.
std::vector<int> foldable_norms(const Graph& graph);

}  // namespace linac::graph
