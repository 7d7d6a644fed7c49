#pragma once
// Models of classes or labels, judged on the same events by one bootstrap. For the sources of this module. Pure,
// thread-safe.

#include <vector>

#include "linac/physics/scores/classification.h"

namespace linac::scores {

/// A class of one model against all others, or a label against its absence. Borrows them.
struct JudgedClass {
  const Labels& labels;
  const Predictions& predictions;
  const ClassFigures& figures;
  size_t label;  // the class among labels
};

struct JudgedModel {
  std::vector<ScoreName> names;
  Evaluate values;  // those of the names, and behind them the values of each class's band
  std::vector<JudgedClass> classes;
  std::vector<double> confusion;
};

/// One or two models, with the same names and classes. `weights`: one an event.
ClassifierJudgement judge_models(const std::vector<JudgedModel>& models, Weights weights,
                                 const BootstrapOptions& options);

}  // namespace linac::scores
