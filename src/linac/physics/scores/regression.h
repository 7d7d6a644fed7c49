#pragma once
// How good a regression is on events with known values, output by output; with bootstrap uncertainties, and for two
// models with the difference. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/labels.h"
#include "linac/physics/scores/possible.h"

namespace linac::scores {

constexpr size_t kResidualBins = 60;

/// Prediction minus truth in equal bins from `low` to `high`, which hold the central 99 % of both models' residuals.
struct Residuals {
  double low = 0, high = 1;
  std::vector<double> counts;  // what events count
  double below = 0, above = 0;
};

struct Regression {
  /// Of each output: mse, mae, bias (mean residual), resolution (standard deviation of the residuals), r2 (1 - mse /
  /// variance of the truth; NaN for a constant truth). Of all, where there are several: mse, mae.
  std::vector<Score> scores;
  std::vector<Residuals> residuals;  // of each output
};

struct RegressionJudgement {
  std::vector<Regression> models;
  std::vector<Score> difference;    // first minus second; empty for one
  std::vector<ScoreName> left_out;  // keep_possible()
};

/// One or two models on the same events, tables [events][outputs]. Data error for values that are not finite and for
/// tables of another size than the targets, user error without events or
/// with weights that do not add up to more than 0.
RegressionJudgement judge_regressions(const Table& targets, const std::vector<Table>& predictions,
                                      const BootstrapOptions& options);

}  // namespace linac::scores
