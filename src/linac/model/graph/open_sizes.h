#pragma once
// Sizes that a model leaves open, as Keras's Input((None, 8)) does. A graph has all its sizes: one that was read with
// open ones has kProvisionalSize in their place until with_input_shapes() gives those of the data. Weights never depend
// on them. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Large enough for the kernels and pools of a model to fit in.
constexpr int64_t kProvisionalSize = 256;

/// The open axes of an input (its attribute "open"), without the batch's, rising.
std::vector<size_t> open_axes(const Node& input);
bool has_open_sizes(const Graph& graph);
/// Only the number of steps is open: what pads is zero, so lists of any length can be brought to one.
bool is_open_sequence(const Node& input);
/// "(None, 8)"
std::string describe_open_shape(const Node& input);

/// The graph with inputs of these shapes, in the model's order. User error naming the input for a shape that differs
/// where nothing is open, and the layer whose weights would change.
Graph with_input_shapes(Graph graph, const std::vector<Shape>& shapes);

/// Of each node's output, which axes have another size where the open ones have. Nothing follows if other sizes cannot
/// be.
std::vector<std::vector<bool>> following_axes(const Graph& graph);
/// The graph at sizes so different from its own that what follows an open one differs too, whatever a stride leaves.
/// User error if that cannot be.
Graph at_other_sizes(const Graph& graph);

}  // namespace linac::graph
