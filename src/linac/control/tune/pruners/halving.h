#pragma once
// Asynchronous successive halving (Li et al., "A system for massively parallel hyperparameter tuning", MLSys 2020,
// algorithm 2, in the form that stops trials): rungs at first, first * factor, ... steps. At a rung a trial goes on if
// it is among the best 1 / factor of those that have come to it so far, itself included; nobody waits. While fewer than
// `factor` have come, the best of them goes on alone. Pure, thread-safe.

#include <functional>

#include "linac/control/tune/pruner.h"

namespace linac::tune {

/// `counts`: trials that compete with this one.
Verdict halving_verdict(const History& history, const Trial& trial, int64_t first, int64_t factor,
                        const std::function<bool(const Trial&)>& counts);

}  // namespace linac::tune
