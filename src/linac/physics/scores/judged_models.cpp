#include "linac/physics/scores/judged_models.h"

namespace linac::scores {
namespace {

// Of each class the effective events of all others.
std::vector<double> backgrounds_of(const std::vector<JudgedClass>& classes, Weights weights) {
  std::vector<double> result;
  for (const JudgedClass& one : classes) {
    std::vector<double> others;
    for (size_t event = 0; event < one.labels.events(); ++event)
      if (one.labels.truth(event) != one.label) others.push_back(weights[event]);
    result.push_back(effective_events(others));
  }
  return result;
}

}  // namespace

ClassifierJudgement judge_models(const std::vector<JudgedModel>& models, Weights weights,
                                 const BootstrapOptions& options) {
  std::vector<Evaluate> as_functions;
  for (const JudgedModel& model : models) as_functions.push_back(model.values);
  const auto estimates = bootstrap_with_difference(weights.size(), options, as_functions);
  const std::vector<ScoreName>& names = models[0].names;
  const size_t own = names.size(), of_band = band_fprs().size() + band_tprs().size();
  const auto scores_in = [&](const std::vector<Estimate>& all) {
    return named(names, {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own)});
  };
  const Rows rows = rows_of(options);
  ClassifierJudgement judgement;
  std::vector<std::vector<Score>*> found;
  judgement.models.resize(models.size());
  for (size_t i = 0; i < models.size(); ++i) {
    Classification& judged = judgement.models[i];
    judged.confusion = models[i].confusion;
    judged.scores = scores_in(estimates[i]);
    found.push_back(&judged.scores);
    for (const auto& [labels, predictions, figures, label] : models[i].classes) {
      const size_t band = own + judged.classes.size() * of_band;
      judged.classes.push_back(detail_of(labels, predictions, figures, label, weights, rows));
      judged.classes.back().band = band_of(std::span(estimates[i]).subspan(band, of_band));
    }
  }
  if (models.size() == 2) {
    judgement.difference = scores_in(estimates[2]);
    for (size_t i = 0; i < models[0].classes.size(); ++i) {
      const JudgedClass &first = models[0].classes[i], &second = models[1].classes[i];
      judgement.delong_difference_error.push_back(
          delong_difference_error(first.labels, first.predictions, second.predictions, first.label, weights, rows));
    }
  }
  judgement.left_out = keep_possible(found, judgement.difference, backgrounds_of(models[0].classes, weights), options);
  return judgement;
}

}  // namespace linac::scores
