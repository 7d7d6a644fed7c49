#pragma once
// How the showers of a sample spread over an observable. Pure, thread-safe.

#include <span>
#include <vector>

#include "linac/physics/plot/binned.h"

namespace linac::report {

/// Shares of all showers: those of the bins, `below` and `above` add up to 1. What is no number is below. The errors
/// are those of base/base/binomial.h, longer above than below where showers are few.
struct Histogram {
  plot::Binned bins;
  double below = 0, above = 0;  // the edges
};
Histogram histogram_of(std::span<const float> values, const std::vector<double>& edges);

}  // namespace linac::report
