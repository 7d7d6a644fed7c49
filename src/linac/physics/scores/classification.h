#pragma once
// How good a classifier is on labelled events: what it decides, how well its probabilities rank events, and whether
// they are frequencies. Every number carries its bootstrap uncertainty; two classifiers are resampled alike, so that
// their difference keeps its correlation. docs/guide/evaluation.md defines the numbers. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/scores/calibration.h"
#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/labels.h"
#include "linac/physics/scores/roc.h"
#include "linac/physics/scores/roc_band.h"

namespace linac::scores {

constexpr size_t kScoreBins = 50;  // of the distributions over [0, 1]

/// One class against all others.
struct ClassDetail {
  Roc roc;  // its points thinned
  RocBand band;
  double delong_error = 0;
  std::vector<ReliabilityBin> reliability;
  /// [true class][bin]: what events count, by the probability of this class, in equal bins over [0, 1].
  std::vector<std::vector<double>> distributions;
};

/// One model on the events.
struct Classification {
  /// Of all: accuracy, balanced_accuracy, top_2 / top_3 / top_5 (fewer than there are classes), log_loss, brier,
  /// auc_macro, auc_weighted, ece. Of each class: auc, average_precision, precision, recall, f1, ece, rejection_50,
  /// _80, _90 and _95.
  std::vector<Score> scores;
  std::vector<ClassDetail> classes;
  std::vector<double> confusion;  // [truth][decision]: what events count
  std::vector<double> effective;  // of each true class, effective_events()
};

/// The models in the order of `predictions`; with two of them the first one's scores minus the second one's, and for
/// each class DeLong's error of the difference of the AUCs.
struct ClassifierJudgement {
  std::vector<Classification> models;
  std::vector<Score> difference;
  std::vector<double> delong_difference_error;
};

/// One or two models on the same events. User error if the weights of a class with events do not add up to more than 0.
ClassifierJudgement judge_classifiers(const Labels& labels, const std::vector<Predictions>& predictions,
                                      const BootstrapOptions& options);

}  // namespace linac::scores
