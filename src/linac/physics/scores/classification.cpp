#include "linac/physics/scores/classification.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/physics/scores/class_figures.h"

namespace linac::scores {
namespace {

void need_weight_of_classes(const Labels& labels, Weights weights) {
  std::vector<double> sums(labels.classes());
  for (size_t event = 0; event < labels.events(); ++event) sums[labels.truth(event)] += weights[event];
  for (size_t label = 0; label < sums.size(); ++label) {
    if (labels.support(label) == 0 || sums[label] > 0) continue;
    throw user_error(fmt::format("[scores] the weights of the {} events of '{}' add up to {:g}; wanted is more than 0",
                                 labels.support(label), labels.names()[label], sums[label]));
  }
}

// Of each class the effective events of all others.
std::vector<double> backgrounds_of(const Labels& labels, Weights weights) {
  std::vector<double> result;
  for (size_t label = 0; label < labels.classes(); ++label) {
    std::vector<double> others;
    for (size_t event = 0; event < labels.events(); ++event)
      if (labels.truth(event) != label) others.push_back(weights[event]);
    result.push_back(effective_events(others));
  }
  return result;
}

// The scores, and behind them the values of each class's band.
std::vector<double> values_of(const ClassFigures& figures, size_t classes, Weights weights) {
  std::vector<double> values = figures.values(weights);
  for (size_t label = 0; label < classes; ++label) {
    const std::vector<double> band = band_values(figures.ranking(label), weights);
    values.insert(values.end(), band.begin(), band.end());
  }
  return values;
}

}  // namespace

ClassifierJudgement judge_classifiers(const Labels& labels, const std::vector<Predictions>& predictions,
                                      const BootstrapOptions& options) {
  LINAC_CHECK(predictions.size() == 1 || predictions.size() == 2);
  const std::vector<double> event_weights = scores::event_weights(labels.events(), options);
  need_weight_of_classes(labels, event_weights);
  std::vector<ClassFigures> figures;
  for (const Predictions& one : predictions) figures.emplace_back(labels, one);
  std::vector<Evaluate> as_functions;
  for (const auto& one : figures)
    as_functions.push_back([&](Weights weights) { return values_of(one, labels.classes(), weights); });
  const auto estimates = bootstrap_with_difference(labels.events(), options, as_functions);
  const size_t own = figures[0].names().size(), of_band = band_fprs().size() + band_tprs().size();
  const auto scores_in = [&](const std::vector<Estimate>& all) {
    return named(figures[0].names(), {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(own)});
  };
  ClassifierJudgement judgement;
  std::vector<std::vector<Score>*> found;
  judgement.models.resize(figures.size());
  for (size_t i = 0; i < figures.size(); ++i) {
    Classification& model = judgement.models[i];
    model.confusion = figures[i].confusion(event_weights);
    model.scores = scores_in(estimates[i]);
    found.push_back(&model.scores);
    for (size_t label = 0; label < labels.classes(); ++label) {
      model.classes.push_back(detail_of(labels, predictions[i], figures[i], label, event_weights, rows_of(options)));
      model.classes.back().band = band_of(std::span(estimates[i]).subspan(own + label * of_band, of_band));
    }
  }
  if (predictions.size() == 2) {
    judgement.difference = scores_in(estimates[2]);
    for (size_t label = 0; label < labels.classes(); ++label)
      judgement.delong_difference_error.push_back(
          delong_difference_error(labels, predictions[0], predictions[1], label, event_weights, rows_of(options)));
  }
  judgement.left_out = keep_possible(found, judgement.difference, backgrounds_of(labels, event_weights), options);
  return judgement;
}

}  // namespace linac::scores
