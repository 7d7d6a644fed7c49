#pragma once
// How far figures scatter from one training to the next: the folds of a cross-validation, or models of other seeds.
// Pure, thread-safe.

#include <vector>

#include "linac/physics/scores/classification.h"
#include "linac/physics/scores/regression.h"

namespace linac::scores {

/// The mean over the models as value, their standard deviation (n - 1 in the denominator) as error, low and high a
/// deviation to either side. What not every model has as a finite number, limits too, is NaN.
struct FoldFigures {
  std::vector<Score> scores;   // those of the first model
  std::vector<RocBand> bands;  // of each class; none of a regression
};

/// Of two models or more, with the same names and classes.
FoldFigures over_folds(const ClassifierJudgement& folds);
FoldFigures over_folds(const RegressionJudgement& folds);

}  // namespace linac::scores
