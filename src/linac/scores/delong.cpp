#include "linac/scores/delong.h"

#include <array>
#include <cmath>
#include <limits>

#include "linac/base/error.h"

namespace linac::scores {

std::vector<double> placements(std::span<const float> scores, std::span<const uint8_t> is_positive) {
  const Ranking ranking(scores, is_positive);
  const Counts all = ranking.totals(std::span<const double>{});
  std::vector<double> result(scores.size(), std::numeric_limits<double>::quiet_NaN());
  if (!(all.positives > 0 && all.negatives > 0)) return result;
  Counts before;
  size_t first = 0;
  ranking.walk(std::span<const double>{}, [&](const Counts& counts, float) {
    const double above = (before.positives + counts.positives) / 2;
    const double below = all.negatives - (before.negatives + counts.negatives) / 2;
    const auto size = static_cast<size_t>(counts.positives + counts.negatives - before.positives - before.negatives);
    for (const uint32_t event : ranking.order().subspan(first, size))
      result[event] = is_positive[event] != 0 ? below / all.negatives : above / all.positives;
    first += size;
    before = counts;
  });
  return result;
}

double delong_error(std::span<const double> placements, std::span<const uint8_t> is_positive) {
  LINAC_CHECK(placements.size() == is_positive.size());
  std::array<double, 2> count{}, sum{}, squares{};
  for (size_t i = 0; i < placements.size(); ++i) {
    const size_t kind = is_positive[i] != 0 ? 1 : 0;
    count[kind] += 1;
    sum[kind] += placements[i];
  }
  if (count[0] < 2 || count[1] < 2) return std::numeric_limits<double>::quiet_NaN();
  for (size_t i = 0; i < placements.size(); ++i) {
    const size_t kind = is_positive[i] != 0 ? 1 : 0;
    const double off = placements[i] - sum[kind] / count[kind];
    squares[kind] += off * off;
  }
  double variance = 0;
  for (const size_t kind : {0, 1}) variance += squares[kind] / (count[kind] - 1) / count[kind];
  return std::sqrt(variance);
}

}  // namespace linac::scores
