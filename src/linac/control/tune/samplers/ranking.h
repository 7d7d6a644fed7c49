#pragma once
// What of a history a model learns from, the best first. Pure, thread-safe.

#include <cstddef>
#include <vector>

#include "linac/control/tune/history.h"

namespace linac::tune {

/// Positions in history.trials(): complete trials by their loss (several: by their front, and within a front those
/// first that cover most beside those before them); pruned ones, those that went further first, then by their last
/// loss; infeasible ones. Failed trials are left out. Equal ones keep the order in which they were told.
std::vector<size_t> ranked(const History& history);

/// Those that run, in the order in which they were started.
std::vector<size_t> running(const History& history);

}  // namespace linac::tune
