#pragma once
// Scores in words. Pure, thread-safe.

#include <string>

#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/task.h"

namespace linac::report {

/// "balanced_accuracy" -> "balanced accuracy"; "rejection_50" -> "1/fpr at 50 %".
std::string score_title(scores::Task task, const std::string& name);

/// "0.9123 ± 0.0021"; "> 87.3 (95 %)" of a limit; of classes without the score "–".
std::string score_text(const scores::Estimate* estimate);

/// A difference in units of its error: "2.3 σ"; "–" without one.
std::string significance_text(const scores::Estimate* difference);

}  // namespace linac::report
