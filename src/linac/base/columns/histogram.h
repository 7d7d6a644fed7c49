#pragma once
// The values of a column by bins, of one or two sides of events on the same axis. Pure, thread-safe.

#include <vector>

#include "linac/base/columns/column_stats.h"

namespace linac::columns {

struct Histogram {
  std::vector<double> edges;                // one more than bins; empty where there is no finite value
  std::vector<std::vector<double>> shares;  // of each side's sample, by bins; with what lies outside they add up to 1
};

/// From 0.1 % to 99.9 % of the values, which leaves far ones out, in kBins bins; of few whole numbers all, a bin each.
inline constexpr size_t kBins = 50;
Histogram histogram_of(const std::vector<const ColumnStats*>& sides);

}  // namespace linac::columns
