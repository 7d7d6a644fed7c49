#pragma once
// How genetic samplers make a point of two others: simulated binary crossover (Deb and Agrawal, Complex Systems 9,
// 1995) and polynomial mutation (Deb and Goyal, 1996) on the coordinates of the cube. Pure, thread-safe.

#include <vector>

#include "linac/control/tune/draws.h"
#include "linac/control/tune/history.h"

namespace linac::tune {

/// How near children are to their parents: more is nearer.
struct GeneticIndices {
  double crossover, mutation;
};

/// A child of two trials. A mutated discrete parameter leaves its cell, a categorical one is drawn anew.
std::vector<double> child_of(const Space& space, const Trial& one, const Trial& other, const GeneticIndices& indices,
                             Draws& draws);

}  // namespace linac::tune
