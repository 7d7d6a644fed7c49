#pragma once
// Which figures there can be: what a sum of weights below zero makes impossible is left out, and an uncertainty that
// says nothing becomes a limit. Pure, thread-safe.

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/physics/scores/estimate.h"

namespace linac::scores {

/// The name and the part of a score.
using ScoreName = std::pair<std::string, int>;

/// With 95 % the mean of a Poisson distribution is not larger, of which so many events were seen: 3.00 for none (R. L.
/// Workman et al., Review of Particle Physics, PTEP 2022, 083C01, section 40.4.2). Of weighted events as many as they
/// are worth.
double events_at_most(double seen);

/// With weights below zero a share is left out (NaN) that lies outside of [0, 1] or has an error beyond 1/2, which no
/// share has; a mean of squares or distances below 0; and the average precision, as what it adds are ratios of few
/// weights. A rejection with an error that is not below its value, or with none as no background passes, gets a limit
/// in its place; `backgrounds`: of each part the effective events that it is against. A difference of what is left out
/// or limited is left out. Returns what is left out.
std::vector<ScoreName> keep_possible(std::span<std::vector<Score>* const> models, std::vector<Score>& difference,
                                     std::span<const double> backgrounds, const BootstrapOptions& options);

}  // namespace linac::scores
