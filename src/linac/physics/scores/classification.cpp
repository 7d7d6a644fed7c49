#include "linac/physics/scores/classification.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/physics/scores/class_figures.h"
#include "linac/physics/scores/delong.h"

namespace linac::scores {
namespace {

std::vector<std::vector<double>> distributions(const Labels& labels, const Predictions& predictions, size_t label,
                                               Weights weights) {
  std::vector<std::vector<double>> counts(labels.classes(), std::vector<double>(kScoreBins));
  for (size_t event = 0; event < labels.events(); ++event) {
    const double place = predictions.probability(event, label) * static_cast<double>(kScoreBins);
    counts[labels.truth(event)][std::min(static_cast<size_t>(place), kScoreBins - 1)] += weights[event];
  }
  return counts;
}

void need_weight_of_classes(const Labels& labels, Weights weights) {
  std::vector<double> sums(labels.classes());
  for (size_t event = 0; event < labels.events(); ++event) sums[labels.truth(event)] += weights[event];
  for (size_t label = 0; label < sums.size(); ++label) {
    if (labels.support(label) == 0 || sums[label] > 0) continue;
    throw user_error(fmt::format("[scores] the weights of the {} events of '{}' add up to {:g}; wanted is more than 0",
                                 labels.support(label), labels.names()[label], sums[label]));
  }
}

std::vector<double> effective(const Labels& labels, Weights weights) {
  std::vector<std::vector<double>> of_class(labels.classes());
  for (size_t event = 0; event < labels.events(); ++event) of_class[labels.truth(event)].push_back(weights[event]);
  std::vector<double> result;
  for (const auto& own : of_class) result.push_back(effective_events(own));
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

Classification describe(const Labels& labels, const Predictions& predictions, const ClassFigures& figures,
                        Weights weights) {
  Classification result;
  result.confusion = figures.confusion(weights);
  result.effective = effective(labels, weights);
  for (size_t label = 0; label < labels.classes(); ++label) {
    const std::vector<uint8_t> is = labels.is(label);
    ClassDetail detail{.roc = roc(figures.ranking(label), weights),
                       .band = {},
                       .delong_error = delong_error(placements(predictions.scores(label), is, weights), is, weights),
                       .reliability = figures.reliability(label).bins(weights),
                       .distributions = distributions(labels, predictions, label, weights)};
    detail.roc.points = thinned(detail.roc.points);
    result.classes.push_back(std::move(detail));
  }
  return result;
}

std::vector<double> delong_difference_error(const Labels& labels, const Predictions& a, const Predictions& b,
                                            Weights weights) {
  std::vector<double> errors;
  for (size_t label = 0; label < labels.classes(); ++label) {
    const std::vector<uint8_t> is = labels.is(label);
    std::vector<double> difference = placements(a.scores(label), is, weights);
    const std::vector<double> other = placements(b.scores(label), is, weights);
    for (size_t event = 0; event < difference.size(); ++event) difference[event] -= other[event];
    errors.push_back(delong_error(difference, is, weights));
  }
  return errors;
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
  for (size_t i = 0; i < figures.size(); ++i) {
    Classification& model = judgement.models.emplace_back(describe(labels, predictions[i], figures[i], event_weights));
    model.scores = scores_in(estimates[i]);
    for (size_t label = 0; label < labels.classes(); ++label)
      model.classes[label].band = band_of(std::span(estimates[i]).subspan(own + label * of_band, of_band));
  }
  if (predictions.size() == 2) {
    judgement.difference = scores_in(estimates[2]);
    judgement.delong_difference_error = delong_difference_error(labels, predictions[0], predictions[1], event_weights);
  }
  return judgement;
}

}  // namespace linac::scores
