#include "linac/physics/report/scores/report.h"

#include <iterator>

#include "linac/base/base/error.h"
#include "linac/physics/report/scores/pictures.h"

namespace linac::report {

const std::vector<scores::Score>& ScoreReport::scores_of(size_t model) const {
  return std::visit(
      [&](const auto& found) -> const auto& { return found.models.at(model).scores; }, judgement);
}

const std::vector<scores::Score>& ScoreReport::difference() const {
  return std::visit(
      [](const auto& found) -> const auto& { return found.difference; }, judgement);
}

const std::vector<scores::ScoreName>& ScoreReport::left_out() const {
  return std::visit(
      [](const auto& found) -> const auto& { return found.left_out; }, judgement);
}

std::vector<size_t> ScoreReport::shown_classes() const {
  std::vector<size_t> classes;
  const size_t first = task == scores::Task::kClasses && support.size() == 2 ? 1 : 0;
  for (size_t label = first; label < support.size(); ++label)
    if (support[label] > 0 && support[label] < events) classes.push_back(label);
  return classes;
}

const scores::ClassifierJudgement& classifier(const ScoreReport& report) {
  return std::get<scores::ClassifierJudgement>(report.judgement);
}

std::vector<NamedPicture> draw(const ScoreReport& report) {
  LINAC_CHECK(report.folds || report.models.size() == 1 || report.models.size() == 2);
  if (report.support.empty()) return report.folds ? std::vector<NamedPicture>{} : std::vector{residual_picture(report)};
  std::vector<NamedPicture> pictures = roc_pictures(report);
  const auto add = [&](std::vector<NamedPicture> more) {
    std::move(more.begin(), more.end(), std::back_inserter(pictures));
  };
  if (report.task == scores::Task::kClasses) add(confusion_pictures(report));
  if (report.folds) return pictures;
  add(reliability_pictures(report));
  pictures.push_back(score_distribution_picture(report));
  return pictures;
}

}  // namespace linac::report
