#pragma once
// The classifier test: how well a network tells two samples apart. Trained by linac, k-fold, deterministic by seed
// whatever the threads. Thread-safe.

#include <span>

#include "linac/model/graph/graph.h"
#include "linac/physics/physics/sample.h"

namespace linac::validate {

/// Area under the ROC curve of scores: the probability that one of `second` lies above one of `first`, ties counting
/// half. 0.5 when one is empty.
double area_under_roc(std::span<const float> first, std::span<const float> second);

struct DiscriminationOptions {
  int folds = 4;
  int epochs = 20;
  int64_t batch = 64;
  double learning_rate = 1e-3;
  uint64_t seed = 1;
  int threads = 1;  // folds side by side
};

/// 0.5: cannot be told apart; 1: always.
struct Auc {
  double value = 0.5;
  double uncertainty = 0;  // standard error over the folds
};

/// Trains `network` (model/models/binary_classifier.h) on all folds but one, scores that one, for each in turn. Rows
/// have the length of the network's input; both samples count alike in the loss, whatever their sizes. Data error if a
/// sample has fewer events than folds.
Auc discriminate(const graph::Graph& network, std::span<const float> first, std::span<const float> second,
                 const DiscriminationOptions& options);

}  // namespace linac::validate
