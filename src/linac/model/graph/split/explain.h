#pragma once
// How a graph is divided, for people and for plans. Pure, thread-safe.

#include <string>

#include "linac/model/graph/split/split_graph.h"

namespace linac::graph {

/// What the parts of a replica say to each other in a step, forward and back. The numbers of batch statistics, some
/// kilobytes, are not among the bytes.
struct PartTraffic {
  double bytes = 0;   // that the busiest part sends, of an event
  int exchanges = 0;  // in which all parts wait for each other
};
PartTraffic traffic_of(const SplitGraph& split);

/// A line a layer: whether each part computes its cells of it, or all of it.
std::string explain(const Graph& graph, const PartGrid& grid, const SplitGraph& split);
/// In some lines: what is not divided, what of divided values is brought together for whom, and the traffic.
std::string in_brief(const Graph& graph, const PartGrid& grid, const SplitGraph& split);

}  // namespace linac::graph
