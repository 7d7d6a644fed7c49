#include "linac/physics/scores/delong.h"

#include <array>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::scores {

std::vector<double> placements(std::span<const float> scores, std::span<const uint8_t> is_positive,
                               std::span<const double> weights) {
  const Ranking ranking(scores, is_positive);
  const Counts all = ranking.totals(weights);
  std::vector<double> result(scores.size(), std::numeric_limits<double>::quiet_NaN());
  if (!(all.positives > 0 && all.negatives > 0)) return result;
  Counts before;
  size_t next = 0;
  ranking.walk(weights, [&](const Counts& counts, float score) {
    const double above = (before.positives + counts.positives) / 2;
    const double below = all.negatives - (before.negatives + counts.negatives) / 2;
    for (; next < ranking.events() && scores[ranking.order()[next]] == score; ++next) {
      const uint32_t event = ranking.order()[next];
      result[event] = is_positive[event] != 0 ? below / all.negatives : above / all.positives;
    }
    before = counts;
  });
  return result;
}

double delong_error(std::span<const double> placements, std::span<const uint8_t> is_positive,
                    std::span<const double> weights) {
  LINAC_CHECK(placements.size() == is_positive.size());
  std::array<double, 2> count{}, count_squares{}, sum{}, squares{};
  const auto weight_of = [&](size_t i) { return weights.empty() ? 1.0 : weights[i]; };
  for (size_t i = 0; i < placements.size(); ++i) {
    const size_t kind = is_positive[i] != 0 ? 1 : 0;
    count[kind] += weight_of(i);
    count_squares[kind] += weight_of(i) * weight_of(i);
    sum[kind] += weight_of(i) * placements[i];
  }
  for (size_t i = 0; i < placements.size(); ++i) {
    const size_t kind = is_positive[i] != 0 ? 1 : 0;
    const double off = weight_of(i) * (placements[i] - sum[kind] / count[kind]);
    squares[kind] += off * off;
  }
  double variance = 0;
  for (const size_t kind : {0, 1}) {
    const double effective = count[kind] * count[kind] / count_squares[kind];
    if (!(effective > 1)) return std::numeric_limits<double>::quiet_NaN();
    variance += squares[kind] / (count[kind] * count[kind]) * effective / (effective - 1);
  }
  return std::sqrt(variance);
}

}  // namespace linac::scores
