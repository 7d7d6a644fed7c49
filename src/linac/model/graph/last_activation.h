#pragma once
// What gives an output its range of values. Pure, thread-safe.

#include <string>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// "softmax" of what has one in the end, though it be reshaped after; "linear" without any; empty where nobody knows.
std::string last_activation(const Graph& graph, int node);

}  // namespace linac::graph
