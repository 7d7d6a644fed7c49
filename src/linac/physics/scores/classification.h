#pragma once
// How good a classifier is on labelled events: what it decides, how well its probabilities rank events, and whether
// they are frequencies. Every number carries its bootstrap uncertainty; two classifiers are resampled alike, so that
// their difference keeps its correlation. docs/guide/evaluation.md defines the numbers. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/scores/class_detail.h"
#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/labels.h"
#include "linac/physics/scores/possible.h"

namespace linac::scores {

/// One model on the events.
struct Classification {
  /// Of all: accuracy, balanced_accuracy, top_2 / top_3 / top_5 (fewer than there are classes), log_loss, brier,
  /// auc_macro, auc_weighted, ece. Of each class: auc, average_precision, precision, recall, f1, ece, rejection_50,
  /// _80, _90 and _95.
  std::vector<Score> scores;
  std::vector<ClassDetail> classes;
  std::vector<double> confusion;  // [truth][decision]: what events count; of labels [label][truth][decision]
};

/// The models in the order of `predictions`; with two of them the first one's scores minus the second one's, and for
/// each class DeLong's error of the difference of the AUCs.
struct ClassifierJudgement {
  std::vector<Classification> models;
  std::vector<Score> difference;
  std::vector<double> delong_difference_error;
  std::vector<ScoreName> left_out;  // keep_possible()
};

/// One or two models on the same events. User error if the weights of a class with events do not add up to more than 0.
ClassifierJudgement judge_classifiers(const Labels& labels, const std::vector<Predictions>& predictions,
                                      const BootstrapOptions& options);

/// Labels of which an event may have any number: each is a classifier of its own, of events with it against those
/// without. `targets` and `predictions`: [events][labels], of 0 and 1 and of probabilities. The scores are, of all:
/// exact_match (the share of events with all labels right), and the means of the labels' accuracy, log_loss, brier and
/// auc (auc_macro). Of each label: accuracy, log_loss and brier as of two classes, and what each class has. Details are
/// by label, their distributions by [without, with]. A label that no event has, or all have, has no figures that rest
/// on both. Data error as of Labels::of_label() and Predictions; user error without events, or where their weights do
/// not add up to more than 0.
ClassifierJudgement judge_labels(const Table& targets, const std::vector<Table>& predictions,
                                 const BootstrapOptions& options);

}  // namespace linac::scores
