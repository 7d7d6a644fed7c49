#include "linac/physics/scores/roc.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();
constexpr double kStep = 1e-3, kRelativeStep = 0.03;  // between the points of a thinned curve

// Whether b lies on the straight line from a to c, in units of weight.
bool collinear(const Counts& a, const Counts& b, const Counts& c) {
  return (b.positives - a.positives) * (c.negatives - b.negatives) ==
         (c.positives - b.positives) * (b.negatives - a.negatives);
}

bool far(double a, double b) {
  return std::abs(a - b) >= kStep || std::abs(a - b) >= kRelativeStep * std::min(std::max(a, b), 1 - std::min(a, b));
}

bool far(const RocPoint& a, const RocPoint& b) {
  return far(a.fpr, b.fpr) || far(a.tpr, b.tpr);
}

}  // namespace

RankFigures rank_figures(const Ranking& ranking, std::span<const double> weights) {
  const Counts all = ranking.totals(weights);
  RankFigures figures{.auc = 0, .average_precision = 0, .rejection = {}};
  Counts before;
  size_t point = 0;
  ranking.walk(weights, [&](const Counts& counts, float) {
    const double positives = counts.positives - before.positives, negatives = counts.negatives - before.negatives;
    figures.auc += negatives * (before.positives + positives / 2);
    if (positives > 0)
      figures.average_precision += positives * counts.positives / (counts.positives + counts.negatives);
    while (point < kWorkingPoints.size() && positives > 0 &&
           counts.positives >= kWorkingPoints[point] * all.positives) {
      const double part = (kWorkingPoints[point] * all.positives - before.positives) / positives;
      figures.rejection[point++] = rejection(all.negatives, before.negatives + part * negatives);
    }
    before = counts;
  });
  const bool both = all.positives > 0 && all.negatives > 0;
  figures.auc = both ? figures.auc / (all.positives * all.negatives) : kNan;
  figures.average_precision = all.positives > 0 ? figures.average_precision / all.positives : kNan;
  if (!both) figures.rejection.fill(kNan);
  return figures;
}

std::span<const RankScore> rank_scores() {
  static constexpr RankScore kAll[] = {
      {"auc", &RankFigures::auc},
      {"average_precision", &RankFigures::average_precision},
  };
  return kAll;
}

double rank_score(std::string_view name, std::span<const float> scores, std::span<const uint8_t> is_positive,
                  std::span<const double> weights) {
  const auto found = std::ranges::find(rank_scores(), name, &RankScore::name);
  LINAC_CHECK(found != rank_scores().end());
  return rank_figures(Ranking(scores, is_positive), weights).*(found->value);
}

double auc(std::span<const float> scores, std::span<const uint8_t> is_positive, std::span<const double> weights) {
  return rank_figures(Ranking(scores, is_positive), weights).auc;
}

Roc roc(const Ranking& ranking, std::span<const double> weights) {
  Roc result{.totals = ranking.totals(weights), .figures = rank_figures(ranking, weights), .points = {}};
  struct Corner {
    Counts counts;
    double threshold;
  };
  std::vector<Corner> corners{{{}, kInfinity}};
  ranking.walk(weights, [&](const Counts& counts, float score) {
    const Corner next{counts, score};
    const size_t n = corners.size();
    if (n > 1 && collinear(corners[n - 2].counts, corners[n - 1].counts, counts)) corners.pop_back();
    corners.push_back(next);
  });
  for (const Corner& corner : corners) {
    result.points.push_back({.fpr = corner.counts.negatives / result.totals.negatives,
                             .tpr = corner.counts.positives / result.totals.positives,
                             .threshold = corner.threshold});
  }
  return result;
}

Roc roc(std::span<const float> scores, std::span<const uint8_t> is_positive, std::span<const double> weights) {
  return roc(Ranking(scores, is_positive), weights);
}

std::vector<RocPoint> thinned(std::span<const RocPoint> points) {
  std::vector<RocPoint> kept;
  for (size_t i = 0; i < points.size(); ++i) {
    const bool end = i == 0 || i + 1 == points.size();
    // The corner before a large step is as much of the curve as the one after it.
    if (end || far(points[i], kept.back()) || far(points[i], points[i + 1])) kept.push_back(points[i]);
  }
  return kept;
}

}  // namespace linac::scores
