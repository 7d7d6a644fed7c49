#pragma once
// What genetic samplers have in common: points to begin with, then children of two trials, by simulated binary
// crossover (Deb and Agrawal, Complex Systems 9, 1995) and polynomial mutation (Deb and Goyal, 1996) on the coordinates
// of the cube. They differ in whom they choose as parents. Pure, thread-safe.

#include <utility>
#include <vector>

#include "linac/control/tune/draws.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/pareto.h"
#include "linac/control/tune/sampler.h"

namespace linac::tune {

/// How near children are to their parents: more is nearer.
struct GeneticIndices {
  double crossover, mutation;
};

/// A child of two trials. A mutated discrete parameter leaves its cell, a categorical one is drawn anew.
std::vector<double> child_of(const Space& space, const Trial& one, const Trial& other, const GeneticIndices& indices,
                             Draws& draws);

/// All that is complete, in the order in which it was told.
struct CompleteTrials {
  explicit CompleteTrials(const History& history);
  std::vector<const Trial*> trials;
  std::vector<Losses> losses;  // of each
};

class GeneticSampler : public Sampler {
 public:
  static constexpr size_t kPopulation = 24;

  /// `use`: of the draws (draws.h).
  GeneticSampler(const SamplerSettings& settings, uint32_t use);
  Point suggest(const History& history, const Ask& ask) final;

 private:
  /// Of a history that has two complete trials at least.
  virtual std::pair<const Trial*, const Trial*> parents(const History& history, const Ask& ask, Draws& draws) const = 0;

  size_t startup_;
  uint32_t use_;
};

}  // namespace linac::tune
