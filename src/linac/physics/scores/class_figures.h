#pragma once
// The numbers of one classifier as functions of weights, with everything that does not depend on them computed once.
// Read-only and thread-safe once made.

#include <string>
#include <utility>
#include <vector>

#include "linac/physics/scores/calibration.h"
#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/labels.h"
#include "linac/physics/scores/ranking.h"

namespace linac::scores {

class ClassFigures {
 public:
  ClassFigures(const Labels& labels, const Predictions& predictions);

  /// Names and parts of the values, in their order.
  const std::vector<std::pair<std::string, int>>& names() const { return names_; }
  std::vector<double> values(Weights weights) const;

  const Ranking& ranking(size_t label) const { return rankings_[label]; }
  const Reliability& reliability(size_t label) const { return reliabilities_[label]; }
  /// [truth][decision]
  std::vector<double> confusion(Weights weights) const;

 private:
  void add_overall(Weights weights, const std::vector<double>& confusion, std::vector<double>& values) const;
  void add_class(size_t label, Weights weights, const std::vector<double>& confusion,
                 std::vector<double>& values) const;

  size_t classes_;
  std::vector<size_t> tops_;  // the k of the top-k accuracies
  std::vector<std::pair<std::string, int>> names_;
  std::vector<uint16_t> truth_, decision_, rank_;  // of each event; the rank is the true class's
  std::vector<float> log_loss_, brier_;            // of each event
  std::vector<Ranking> rankings_;                  // of each class
  std::vector<Reliability> reliabilities_;         // of each class
  Reliability confidence_;                         // of the decision
};

}  // namespace linac::scores
