#include "linac/scores/classification.h"

#include <algorithm>

#include "linac/base/error.h"
#include "linac/scores/class_figures.h"
#include "linac/scores/delong.h"

namespace linac::scores {
namespace {

std::vector<std::vector<int64_t>> distributions(const Labels& labels, const Predictions& predictions, size_t label) {
  std::vector<std::vector<int64_t>> counts(labels.classes(), std::vector<int64_t>(kScoreBins));
  for (size_t event = 0; event < labels.events(); ++event) {
    const double place = predictions.probability(event, label) * static_cast<double>(kScoreBins);
    ++counts[labels.truth(event)][std::min(static_cast<size_t>(place), kScoreBins - 1)];
  }
  return counts;
}

Classification describe(const Labels& labels, const Predictions& predictions, const ClassFigures& figures) {
  const std::vector<uint8_t> ones(labels.events(), 1);
  Classification result;
  for (const double count : figures.confusion(ones)) result.confusion.push_back(static_cast<int64_t>(count));
  for (size_t label = 0; label < labels.classes(); ++label) {
    const std::vector<uint8_t> is = labels.is(label);
    ClassDetail detail{.roc = roc(figures.ranking(label)),
                       .delong_error = delong_error(placements(predictions.scores(label), is), is),
                       .reliability = figures.reliability(label).bins(ones),
                       .distributions = distributions(labels, predictions, label)};
    detail.roc.points = thinned(detail.roc.points);
    result.classes.push_back(std::move(detail));
  }
  return result;
}

std::vector<double> delong_difference_error(const Labels& labels, const Predictions& a, const Predictions& b) {
  std::vector<double> errors;
  for (size_t label = 0; label < labels.classes(); ++label) {
    const std::vector<uint8_t> is = labels.is(label);
    std::vector<double> difference = placements(a.scores(label), is);
    const std::vector<double> other = placements(b.scores(label), is);
    for (size_t event = 0; event < difference.size(); ++event) difference[event] -= other[event];
    errors.push_back(delong_error(difference, is));
  }
  return errors;
}

}  // namespace

ClassifierJudgement judge_classifiers(const Labels& labels, const std::vector<Predictions>& predictions,
                                      const BootstrapOptions& options) {
  LINAC_CHECK(predictions.size() == 1 || predictions.size() == 2);
  std::vector<ClassFigures> figures;
  for (const Predictions& one : predictions) figures.emplace_back(labels, one);
  std::vector<Evaluate> as_functions;
  for (const auto& one : figures) as_functions.push_back([&one](Weights weights) { return one.values(weights); });
  const auto estimates = bootstrap_with_difference(labels.events(), options, as_functions);
  ClassifierJudgement judgement;
  for (size_t i = 0; i < figures.size(); ++i) {
    judgement.models.push_back(describe(labels, predictions[i], figures[i]));
    judgement.models.back().scores = named(figures[i].names(), estimates[i]);
  }
  if (predictions.size() == 2) {
    judgement.difference = named(figures[0].names(), estimates[2]);
    judgement.delong_difference_error = delong_difference_error(labels, predictions[0], predictions[1]);
  }
  return judgement;
}

}  // namespace linac::scores
