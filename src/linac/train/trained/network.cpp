#include "linac/train/trained/network.h"

namespace linac::trained {

Network fresh_network(const std::string& name, const graph::Graph& graph, graph::Parameters parameters,
                      const optimizer::Settings& optimizer) {
  optimizer::Optimizer fresh(optimizer, parameters.trainable.size());
  graph::StatisticsUpdate update = graph::statistics_update(graph, parameters);
  std::vector<graph::ConstrainedSlot> constraints = graph::constrained_slots(graph, parameters.trainable_layout);
  return {name, std::move(parameters), std::move(fresh), std::move(update), std::move(constraints)};
}

}  // namespace linac::trained
