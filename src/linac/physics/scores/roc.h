#pragma once
// How well a score separates two classes, whatever the threshold (Fawcett, "An introduction to ROC analysis", Pattern
// Recognition Letters 27, 2006). Efficiency is the share of an event class that passes a threshold: tpr of the
// positives (signal), fpr of the negatives (background). Everything that has no meaning because a class is missing is
// NaN. Pure, thread-safe.

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "linac/physics/scores/ranking.h"

namespace linac::scores {

/// Signal efficiencies at which the background rejection is quoted.
constexpr std::array<double, 4> kWorkingPoints{0.5, 0.8, 0.9, 0.95};

/// What follows from the order of the scores.
struct RankFigures {
  double auc = 0;                // area under the ROC curve: P(a positive scores higher), ties count half
  double average_precision = 0;  // sum of precision x gain in tpr over the thresholds
  /// 1 / fpr at the working points, linearly between thresholds, the lowest fpr where the curve is flat; infinite where
  /// no background passes.
  std::array<double, kWorkingPoints.size()> rejection{};
};

/// 1 / fpr where so much of the background passes; infinite where none does, or no more than weights below zero cancel.
inline double rejection(double background, double passing) {
  return passing > 0 ? background / passing : std::numeric_limits<double>::infinity();
}

RankFigures rank_figures(const Ranking& ranking, std::span<const double> weights = {});

/// Those of them that are one number: what `linac evaluate` tells of each class, and what train.fit.metrics may name as
/// a metric over all scores (base/job/metrics.h).
struct RankScore {
  const char* name;
  double RankFigures::*value;
};
std::span<const RankScore> rank_scores();

/// The one of that name. User error for a score that is not finite.
double rank_score(std::string_view name, std::span<const float> scores, std::span<const uint8_t> is_positive,
                  std::span<const double> weights = {});

/// The exact area (Mann and Whitney 1947). User error for a score that is not finite.
double auc(std::span<const float> scores, std::span<const uint8_t> is_positive, std::span<const double> weights = {});

struct RocPoint {
  double fpr = 0, tpr = 0;
  double threshold = 0;  // events with this score or a higher one pass; infinite at the origin
};

struct Roc {
  Counts totals;
  RankFigures figures;
  std::vector<RocPoint> points;  // from (0, 0) to (1, 1), none of them on the line between its neighbours
};

Roc roc(std::span<const float> scores, std::span<const uint8_t> is_positive, std::span<const double> weights = {});
Roc roc(const Ranking& ranking, std::span<const double> weights = {});

/// A few thousand of the points at most, for pictures and files: both ends, and those that are farther from the last
/// one or the next one than 1/1000 in tpr or fpr, or than 3 % of either efficiency or inefficiency.
std::vector<RocPoint> thinned(std::span<const RocPoint> points);

}  // namespace linac::scores
