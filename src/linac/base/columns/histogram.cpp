#include "linac/base/columns/histogram.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::columns {
namespace {

constexpr double kLeftOut = 0.001;               // of the values, on each end
constexpr double kHalvesEnd = 4503599627370496;  // 2^52: from here on no double lies between two whole numbers

struct Reach {
  double low = 0, high = 0;
  bool whole = true;
};

Reach reach_of(const std::vector<const ColumnStats*>& sides) {
  Reach reach;
  bool first = true;
  for (const ColumnStats* const side : sides) {
    const std::vector<float>& sample = side->sample;
    if (sample.empty()) continue;
    const bool whole = std::ranges::all_of(sample, [](float value) { return value == std::floor(value); });
    const bool few = whole && side->max - side->min < static_cast<double>(kBins);
    const auto left_out = few ? 0 : static_cast<size_t>(kLeftOut * static_cast<double>(sample.size()));
    const double low = sample[left_out], high = sample[sample.size() - 1 - left_out];
    reach.low = first ? low : std::min(reach.low, low);
    reach.high = first ? high : std::max(reach.high, high);
    reach.whole = reach.whole && whole;
    first = false;
  }
  return reach;
}

std::vector<double> edges_of(const Reach& reach) {
  std::vector<double> edges;
  const double scale = std::max(std::abs(reach.low), std::abs(reach.high));
  if (reach.whole && scale + kBins < kHalvesEnd && reach.high - reach.low < static_cast<double>(kBins)) {
    for (double value = reach.low - 0.5; value < reach.high + 1; ++value) edges.push_back(value);
    return edges;
  }
  const double half = reach.high > reach.low ? 0 : (scale > 0 ? 0.01 * scale : 0.5);
  const double low = reach.low - half, width = (reach.high + half - low) / static_cast<double>(kBins);
  for (size_t i = 0; i <= kBins; ++i) edges.push_back(low + width * static_cast<double>(i));
  return edges;
}

std::vector<double> shares_of(const std::vector<float>& sample, const std::vector<double>& edges) {
  LINAC_CHECK(edges.size() > 1 && edges.front() < edges.back());
  std::vector<double> shares(edges.size() - 1, 0);
  const double bins = static_cast<double>(shares.size()), low = edges.front(), high = edges.back();
  for (const float value : sample) {
    if (value < low || value > high) continue;
    const auto bin = static_cast<size_t>((value - low) / (high - low) * bins);
    shares[std::min(bin, shares.size() - 1)] += 1 / static_cast<double>(sample.size());
  }
  return shares;
}

}  // namespace

Histogram histogram_of(const std::vector<const ColumnStats*>& sides) {
  Histogram histogram;
  if (std::ranges::all_of(sides, [](const ColumnStats* side) { return side->sample.empty(); })) return histogram;
  histogram.edges = edges_of(reach_of(sides));
  for (const ColumnStats* const side : sides) histogram.shares.push_back(shares_of(side->sample, histogram.edges));
  return histogram;
}

}  // namespace linac::columns
