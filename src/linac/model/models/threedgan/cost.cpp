#include "linac/model/models/threedgan/cost.h"

#include "linac/model/graph/passes/fold_upsample.h"

namespace linac::models::threedgan {
namespace {

constexpr double kGiga = 1e9;

// Of the first node with weights: its input is data.
double first_layer(const graph::Graph& graph) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!graph.nodes[i].weights.empty()) return graph::forward_flop(graph, static_cast<int>(i));
  }
  return 0;
}

double step_flop(const graph::Graph& generator, const graph::Graph& discriminator) {
  const double g = graph::forward_flop(generator), d = graph::forward_flop(discriminator);
  const double d_update = 3 * d - first_layer(discriminator), g_update = 3 * g - first_layer(generator) + 2 * d;
  return g + 2 * d_update + 2 * g_update;
}

}  // namespace

StepCost step_cost(const ThreeDGan& model) {
  return {step_flop(model.generator(), model.discriminator()) / kGiga,
          step_flop(graph::fold_upsample(model.generator()), model.discriminator()) / kGiga};
}

double generator_gflop(const ThreeDGan& model) {
  return graph::forward_flop(graph::fold_upsample(model.generator())) / kGiga;
}

}  // namespace linac::models::threedgan
