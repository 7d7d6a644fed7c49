#pragma once
// The curves and distributions of one class against all others. Pure, thread-safe.

#include <limits>
#include <vector>

#include "linac/physics/scores/class_figures.h"
#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/labels.h"
#include "linac/physics/scores/roc.h"
#include "linac/physics/scores/roc_band.h"

namespace linac::scores {

constexpr size_t kScoreBins = 50;  // of the distributions over [0, 1]

struct ClassDetail {
  Roc roc;  // its points thinned
  RocBand band;
  double delong_error = std::numeric_limits<double>::quiet_NaN();
  std::vector<ReliabilityBin> reliability;
  /// [true class][bin]: what events count, by the probability of this class, in equal bins over [0, 1].
  std::vector<std::vector<double>> distributions;
  std::vector<double> effective;  // of each true class, effective_events()
};

/// What the weights of a judgement count: DeLong's errors are of independent rows, and NaN of steps.
enum class Rows { kEvents, kSteps };
Rows rows_of(const BootstrapOptions& options);

/// Without its band, which rests on replicas.
ClassDetail detail_of(const Labels& labels, const Predictions& predictions, const ClassFigures& figures, size_t label,
                      Weights weights, Rows rows);

/// DeLong's error of the difference of two models' AUCs.
double delong_difference_error(const Labels& labels, const Predictions& a, const Predictions& b, size_t label,
                               Weights weights, Rows rows);

}  // namespace linac::scores
