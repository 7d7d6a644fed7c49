#pragma once
// How a graph is divided, for people: which layers are, and what the others need of all parts. Pure, thread-safe.

#include <string>

#include "linac/model/graph/split/split_graph.h"

namespace linac::graph {

/// A line a layer; values for one event.
std::string explain(const Graph& graph, const PartGrid& grid, const SplitGraph& split);

}  // namespace linac::graph
