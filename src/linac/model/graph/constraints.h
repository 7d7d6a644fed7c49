#pragma once
// Weights that are brought back after each update to what their layers demand (Weight::constraint), as
// keras.constraints do. Pure, thread-safe.

#include <span>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"

namespace linac::graph {

struct ConstrainedSlot {
  Slot slot;  // of the trainable layout
  Constraint constraint;
  std::vector<size_t> norms;  // for each value, which of the slot's norms it belongs to
};

/// Those of the graph's weights; frozen ones need none.
std::vector<ConstrainedSlot> constrained_slots(const Graph& graph, const Layout& trainable);

/// Changes a buffer of that layout, in double and in one order: the same values everywhere.
void enforce(const std::vector<ConstrainedSlot>& constrained, std::span<float> trainable);

}  // namespace linac::graph
