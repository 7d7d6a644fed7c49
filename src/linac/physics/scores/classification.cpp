#include "linac/physics/scores/classification.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/physics/scores/class_figures.h"
#include "linac/physics/scores/judged_models.h"

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
  std::vector<JudgedModel> models;
  for (size_t i = 0; i < figures.size(); ++i) {
    const ClassFigures& own = figures[i];
    JudgedModel& model = models.emplace_back(
        JudgedModel{.names = own.names(), .values = {}, .classes = {}, .confusion = own.confusion(event_weights)});
    model.values = [&](Weights weights) { return values_of(own, labels.classes(), weights); };
    for (size_t label = 0; label < labels.classes(); ++label)
      model.classes.push_back({labels, predictions[i], own, label});
  }
  return judge_models(models, event_weights, options);
}

}  // namespace linac::scores
