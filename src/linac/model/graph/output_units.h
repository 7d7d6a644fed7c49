#pragma once
// Outputs that were trained on scaled targets, and the units of the files that held these. Pure, thread-safe.

#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// An output x in units of the training is x * scale + offset in those of the files: one number each, or one for each
/// place of the output's last axis. Empty: they are the same.
struct OutputUnits {
  std::vector<float> scale, offset;
  bool empty() const { return scale.empty(); }
};

/// The graph with a layer Rescaling behind each output whose units differ, unless it has one already. The layer takes
/// the output's name NAME, and what it reads is NAME_scaled from then on; where that cannot be renamed, as a layer that
/// is called twice, the new one is NAME_unscaled. Nodes keep their numbers. `units`: of each output.
Graph in_units_of_files(Graph graph, const std::vector<OutputUnits>& units);

/// The way back for these outputs, by the names of the layers; others stay. Nodes that are left keep their order, and
/// `nodes`, numbers of some of them, become their new ones.
Graph in_units_of_training(Graph graph, const std::vector<bool>& outputs, std::vector<int>& nodes);

}  // namespace linac::graph
