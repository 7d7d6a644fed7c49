#pragma once
// The pictures of a report on scores, one kind a file. Pure, thread-safe.

#include <vector>

#include "linac/physics/report/scores/report.h"

namespace linac::report {

const scores::ClassifierJudgement& classifier(const ScoreReport& report);

/// Signal over background efficiency, and background rejection over signal efficiency; two models in one picture.
std::vector<NamedPicture> roc_pictures(const ScoreReport& report);
/// One a model.
std::vector<NamedPicture> confusion_pictures(const ScoreReport& report);
/// One a model.
std::vector<NamedPicture> reliability_pictures(const ScoreReport& report);
/// Of each class's score by true class.
NamedPicture score_distribution_picture(const ScoreReport& report);
/// Of each output of a regression.
NamedPicture residual_picture(const ScoreReport& report);

}  // namespace linac::report
