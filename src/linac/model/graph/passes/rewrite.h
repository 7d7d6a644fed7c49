#pragma once
// What passes share: who reads a node, and a graph without some of its nodes. Pure.

#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// How often the node is an input or the mask of others, shares its weights with them, or is an output of the graph.
int readers(const Graph& graph, int node);

/// The graph without the nodes marked `gone`, renumbered, shapes inferred anew. `replaced[i]` stands for node i: the
/// node that now computes its value, itself if it stays.
Graph without(const Graph& graph, const std::vector<bool>& gone, const std::vector<int>& replaced);

}  // namespace linac::graph
