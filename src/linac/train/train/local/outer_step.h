#pragma once
// What a round makes of the mean way of the islands: the outer optimizer of DiLoCo (Douillard et al.,
// arXiv:2311.08105), which is stochastic gradient descent with the mean way as its gradient. With rate 1 and no
// momentum the weights are the mean of the islands' (local SGD; Stich, arXiv:1805.09767). Pure, thread-safe.

#include <span>

#include "linac/base/job/sync.h"

namespace linac::train {

/// `way`: the weights where the round began minus the mean of those where it ended; `momentum`: of the rounds before,
/// zeros at first, changed in place. All of the same size.
void outer_step(const job::OuterOptimizer& settings, std::span<float> weights, std::span<const float> way,
                std::span<float> momentum);

/// What synchronous elastic averaging (Zhang et al., arXiv:1412.6651, equations 5 and 6) makes of the weights that an
/// island had in the end: they go by `alpha`, the moving rate for one island, towards those of all where the round
/// began. Those of all go by the same part of each island's way, which is an outer_step of momentum 0 whose rate is the
/// number of islands times alpha. All of the same size.
void elastic_step(float alpha, std::span<float> weights, std::span<const float> of_all);

}  // namespace linac::train
