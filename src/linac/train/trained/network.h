#pragma once
// A network with all that its training has made of it: what a file of a model and a checkpoint hold. Plain values.

#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/optimizer/optimizer.h"
#include "linac/model/graph/constraints.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"

namespace linac::trained {

struct Network {
  std::string name;  // in checkpoints: "generator", "model"
  graph::Parameters parameters;
  optimizer::Optimizer optimizer;
  graph::StatisticsUpdate update;  // of its running statistics
  std::vector<graph::ConstrainedSlot> constraints;
};

/// A network before its first step, with fresh optimiser.
Network fresh_network(const std::string& name, const graph::Graph& graph, graph::Parameters parameters,
                      const optimizer::Settings& optimizer);

}  // namespace linac::trained
