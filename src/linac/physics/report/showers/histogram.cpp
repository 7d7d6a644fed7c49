#include "linac/physics/report/showers/histogram.h"

#include <algorithm>

#include "linac/base/base/binomial.h"

namespace linac::report {

Histogram histogram_of(std::span<const float> values, const std::vector<double>& edges) {
  Histogram histogram;
  std::vector<double>& shares = histogram.bins.values;
  shares.resize(edges.size() - 1);
  const auto showers = static_cast<double>(values.size());
  for (const float value : values) {
    if (!(value >= edges.front())) {
      histogram.below += 1 / showers;
    } else if (value >= edges.back()) {
      histogram.above += 1 / showers;
    } else {
      shares[static_cast<size_t>(std::upper_bound(edges.begin(), edges.end(), value) - edges.begin()) - 1] +=
          1 / showers;
    }
  }
  for (const double share : shares) {
    const Range interval = share_interval(share, showers);
    histogram.bins.errors.push_back(interval.high - share);
    histogram.bins.below.push_back(share - interval.low);
  }
  return histogram;
}

}  // namespace linac::report
