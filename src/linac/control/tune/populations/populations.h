#pragma once
// The ways in which a population explores (population.cpp has their table), a file each. Pure, thread-safe.

#include "linac/control/tune/draws.h"
#include "linac/control/tune/history.h"
#include "linac/control/tune/population.h"

namespace linac::tune {

/// What a member tries that takes over the state of `parent`.
struct Exploring {
  const History& history;
  const PopulationSettings& settings;
  const Trial& parent;
  Ask ask;
};

/// Each setting of the parent's is drawn anew, or moved a little; a choice stays.
Point explore_pbt(const Exploring& now);
/// PB2 (Parker-Holder, Nguyen and Roberts, "Provably efficient online hyperparameter optimization with population-based
/// bandits", NeurIPS 2020; arXiv:2002.02518): the largest upper confidence bound of a Gaussian process, which forgets,
/// over what an interval gained. Members that explore in the same generation keep apart (GP-BUCB, Desautels et al.,
/// JMLR 15, 2014).
Point explore_pb2(const Exploring& now);

}  // namespace linac::tune
