#include "linac/physics/scores/roc_band.h"

#include <limits>

#include "linac/base/base/error.h"
#include "linac/physics/scores/roc.h"

namespace linac::scores {
namespace {

constexpr int kPoints = 100;

}  // namespace

const std::vector<double>& band_fprs() {
  static const std::vector<double> all = [] {
    std::vector<double> values;
    for (int i = 0; i <= kPoints; ++i) values.push_back(static_cast<double>(i * i) / (kPoints * kPoints));
    return values;
  }();
  return all;
}

const std::vector<double>& band_tprs() {
  static const std::vector<double> all = [] {
    std::vector<double> values;
    for (int i = 1; i <= kPoints; ++i) values.push_back(static_cast<double>(i) / kPoints);
    return values;
  }();
  return all;
}

std::vector<double> band_values(const Ranking& ranking, Weights weights) {
  const std::vector<double>&fprs = band_fprs(), &tprs = band_tprs();
  std::vector<double> values(fprs.size() + tprs.size(), std::numeric_limits<double>::quiet_NaN());
  const Counts all = ranking.totals(weights);
  if (!(all.positives > 0) || !(all.negatives > 0)) return values;
  Counts before;
  size_t fpr = 0, tpr = 0;
  ranking.walk(weights, [&](const Counts& counts, float) {
    const double positives = counts.positives - before.positives, negatives = counts.negatives - before.negatives;
    for (; fpr < fprs.size() && negatives > 0 && counts.negatives >= fprs[fpr] * all.negatives; ++fpr) {
      const double part = (fprs[fpr] * all.negatives - before.negatives) / negatives;
      values[fpr] = (before.positives + part * positives) / all.positives;
    }
    for (; tpr < tprs.size() && positives > 0 && counts.positives >= tprs[tpr] * all.positives; ++tpr) {
      const double part = (tprs[tpr] * all.positives - before.positives) / positives;
      values[fprs.size() + tpr] = rejection(all.negatives, before.negatives + part * negatives);
    }
    before = counts;
  });
  return values;
}

RocBand band_of(std::span<const Estimate> estimates) {
  const size_t fprs = band_fprs().size();
  LINAC_CHECK(estimates.size() == fprs + band_tprs().size());
  return {{estimates.begin(), estimates.begin() + static_cast<std::ptrdiff_t>(fprs)},
          {estimates.begin() + static_cast<std::ptrdiff_t>(fprs), estimates.end()}};
}

}  // namespace linac::scores
