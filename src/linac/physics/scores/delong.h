#pragma once
// The standard error of an AUC without resampling (DeLong, DeLong and Clarke-Pearson, Biometrics 44, 1988), by ranks in
// O(n log n) (Sun and Xu, IEEE Signal Processing Letters 21, 2014). Pure, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/physics/scores/ranking.h"

namespace linac::scores {

/// Of each event the share of the other class's that it is ordered rightly against, ties counting half. Its mean over
/// either class is the AUC. NaN when a class is missing. Weights by event here and below; empty: all 1.
std::vector<double> placements(std::span<const float> scores, std::span<const uint8_t> is_positive,
                               std::span<const double> weights = {});

/// Standard error of the AUC: of the mean of the placements over both classes. With the differences of two scores'
/// placements for the same events it is that of the difference of their AUCs, correlation included. NaN with fewer than
/// two events of a class. With weights the variance of either weighted mean is sum of w^2 d^2 / (sum of w)^2, d the
/// distance from the mean, times n / (n - 1) for n effective events (estimate.h).
double delong_error(std::span<const double> placements, std::span<const uint8_t> is_positive,
                    std::span<const double> weights = {});

}  // namespace linac::scores
