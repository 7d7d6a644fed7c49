#include "linac/control/tune/samplers/genetic.h"

#include <algorithm>
#include <cmath>

#include "linac/control/tune/samplers/startup.h"

namespace linac::tune {
namespace {

constexpr double kCrossover = 0.9;
constexpr GeneticIndices kIndices{.crossover = 10, .mutation = 15};
constexpr size_t kStartup = 20, kParentsMin = 2;

/// One of the two children's coordinates, within the cube.
double crossed(double one, double other, double index, Draws& draws) {
  const double u = draws.uniform(), power = 1 / (index + 1);
  const double spread = u < 0.5 ? std::pow(2 * u, power) : std::pow(1 / (2 * (1 - u)), power);
  const double side = draws.uniform() < 0.5 ? spread : -spread;
  return std::clamp(0.5 * (one + other) + 0.5 * side * (one - other), 0.0, 1.0);
}

double mutated(const Parameter& parameter, double at, double index, Draws& draws) {
  if (parameter.categorical())
    return parameter.edge_of(static_cast<int64_t>(draws.below(static_cast<size_t>(parameter.cells)))) +
           0.5 / static_cast<double>(parameter.cells);
  const double u = draws.uniform(), power = 1 / (index + 1);
  const double step = u < 0.5 ? std::pow(2 * u, power) - 1 : 1 - std::pow(2 * (1 - u), power);
  const double moved = std::clamp(at + step, 0.0, 1.0);
  if (!parameter.discrete() || parameter.cell_of(moved) != parameter.cell_of(at)) return moved;
  return std::clamp(at + (step < 0 ? -1 : 1) / static_cast<double>(parameter.cells), 0.0, 1.0);
}

}  // namespace

std::vector<double> child_of(const Space& space, const Trial& one, const Trial& other, const GeneticIndices& indices,
                             Draws& draws) {
  const bool cross = draws.uniform() < kCrossover;
  std::vector<double> child = one.unit;
  const double mutation = 1 / static_cast<double>(space.size());
  for (size_t i = 0; i < child.size(); ++i) {
    if (cross && draws.uniform() < 0.5)
      child[i] = space[i].categorical() ? other.unit[i] : crossed(one.unit[i], other.unit[i], indices.crossover, draws);
    if (draws.uniform() < mutation) child[i] = mutated(space[i], child[i], indices.mutation, draws);
  }
  return child;
}

CompleteTrials::CompleteTrials(const History& history) {
  for (const size_t place : history.told()) {
    const Trial& trial = history.trials()[place];
    if (trial.state != State::kComplete) continue;
    trials.push_back(&trial);
    losses.push_back(trial.losses);
  }
}

GeneticSampler::GeneticSampler(const SamplerSettings& settings, uint32_t use)
    : startup_(settings.startup > 0 ? static_cast<size_t>(settings.startup) : kStartup), use_(use) {}

Point GeneticSampler::suggest(const History& history, const Ask& ask) {
  const Space& space = history.space();
  if (history.told().size() < startup_ || history.complete_count() < kParentsMin) return startup_point(space, ask);
  Draws draws(ask, use_);
  const auto [one, other] = parents(history, ask, draws);
  return space.point_of(child_of(space, *one, *other, kIndices, draws));
}

}  // namespace linac::tune
