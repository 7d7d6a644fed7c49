#include "linac/train/train/record/outline.h"

#include <algorithm>

#include "linac/model/graph/graph.h"

namespace linac::train {
namespace {

// A backward pass takes two thirds of an update and comes upon the layers from the last to the first, in proportion to
// their operations: what is left when the gradient from the slot at `offset` on is there.
double left_share(const graph::Graph& graph, const graph::Layout& layout, size_t offset) {
  double before = 0;
  for (size_t node = 0; node < graph.nodes.size(); ++node) {
    const bool reached = std::any_of(layout.slots.begin(), layout.slots.end(), [&](const graph::Slot& slot) {
      return static_cast<size_t>(slot.offset) >= offset && slot.name.starts_with(graph.nodes[node].name + "/");
    });
    if (reached) break;
    before += graph::forward_flop(graph, static_cast<int>(node));
  }
  const double whole = graph::forward_flop(graph);
  return whole > 0 ? 2.0 / 3.0 * before / whole : 0;
}

}  // namespace

job::TrainingOutline outline_of(const job::Job& job, const LoopSteps& steps, const TrainState& state, int replicas,
                                int64_t steps_per_epoch) {
  job::TrainingOutline outline;
  outline.steps_per_epoch = steps_per_epoch;
  const auto graphs = steps.graphs();
  const std::vector<UpdateOutline> updates = steps.updates(state, replicas);
  // Each takes as long as any other.
  const double share = 1 / static_cast<double>(std::max<size_t>(1, updates.size()));
  for (const UpdateOutline& update : updates) {
    const graph::Layout& layout = state.networks[update.network].parameters.trainable_layout;
    job::OutlinedUpdate& told = outline.updates.emplace_back();
    told.beside = update.beside * share;
    told.every = update.every;
    for (const UpdateOutline::Part& part : update.parts) {
      const bool in_backward_pass = update.leaves_early && part.begin < static_cast<size_t>(layout.total);
      told.parts.push_back(
          {part.bytes, in_backward_pass ? share * left_share(*graphs[update.network], layout, part.begin) : 0});
    }
  }
  double forward = 0;
  for (const graph::Graph* graph : graphs) forward += graph::forward_flop(*graph);
  outline.flop = 3 * forward * static_cast<double>(updates.size()) * static_cast<double>(job.train.batch);
  return outline;
}

}  // namespace linac::train
