#pragma once
// Cutting a graph down to what some of its outputs need. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// The sub-graph of `outputs` (indices of nodes, which become the outputs in that order): every node that they read,
/// directly or not, in the order of `graph` and renumbered. Inputs that nothing reads any more are left out. Shapes and
/// weights of the kept nodes stay as they are, so `to_weight_values(prune(...), parameters)` takes their values by
/// name. An index that is not in the graph is a broken invariant.
Graph prune(const Graph& graph, const std::vector<int>& outputs);

/// The same with the names of the nodes; user error that lists the names for one that is not there.
Graph prune(const Graph& graph, const std::vector<std::string>& outputs);

}  // namespace linac::graph
