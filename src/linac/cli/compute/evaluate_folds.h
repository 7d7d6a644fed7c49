#pragma once
// The models of a cross-validation, judged together.

#include <string>
#include <vector>

#include "linac/cli/compute/evaluate_report.h"

namespace linac::cli {

/// Two models or more: without data in `sources` each on the events that tested it in its training. User error for
/// folds that are not of one cross-validation, for models of different outputs, and for what goes with one model only.
report::ScoreReport judge_folds(const Judging& options, ArraySources sources, const std::vector<std::string>& models);

}  // namespace linac::cli
