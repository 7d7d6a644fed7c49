#pragma once
// What the layers that join inputs share with the operations and with those who compute them. Pure.

#include <array>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// The shape of elementwise operations on both, as numpy has it; user error if they do not go together.
Shape broadcast(const Node& node, const Shape& a, const Shape& b);

/// The same for all inputs of a node, which need as many axes: with fewer, the batch would meet another axis.
Shape broadcast_all(const Node& node, const std::vector<Shape>& inputs);

/// Which axis of each input (without the batch axis) a Dot contracts.
std::array<size_t, 2> dot_axes(const Node& node, size_t rank_a, size_t rank_b);

}  // namespace linac::graph
