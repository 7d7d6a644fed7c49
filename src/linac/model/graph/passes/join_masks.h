#pragma once
// The mask of a Masking layer as Keras 3 saves it in models that carry it along: two operations, ops.NotEqual with a
// constant and ops.Any over the features, on all of the padded input.

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Puts one node StepMask (attribute "value") in the place of each such pair, which is computed in one pass over the
/// input. What others read too stays. Pure.
Graph join_masks(const Graph& graph);

}  // namespace linac::graph
