#pragma once
// Operations of keras.ops on whole arrays: slices, other shapes, contractions. What follows from their attributes; each
// function throws a user error that names the layer. Pure, thread-safe.

#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Of one axis: `count` cells from `start` on, each `step` (not 0) behind the one before.
struct AxisCut {
  int64_t start = 0, count = 0, step = 1;
};

/// What an ops.GetItem takes of each axis of its input, the batch left out; which of them stay is in the output's
/// shape.
std::vector<AxisCut> axis_cuts(const Node& node, const Shape& input);

}  // namespace linac::graph
