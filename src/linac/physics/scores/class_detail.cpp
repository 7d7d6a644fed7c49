#include "linac/physics/scores/class_detail.h"

#include <algorithm>

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

std::vector<double> effective(const Labels& labels, Weights weights) {
  std::vector<std::vector<double>> of_class(labels.classes());
  for (size_t event = 0; event < labels.events(); ++event) of_class[labels.truth(event)].push_back(weights[event]);
  std::vector<double> result;
  for (const auto& own : of_class) result.push_back(effective_events(own));
  return result;
}

}  // namespace

Rows rows_of(const BootstrapOptions& options) {
  return options.event_of_row.empty() ? Rows::kEvents : Rows::kSteps;
}

ClassDetail detail_of(const Labels& labels, const Predictions& predictions, const ClassFigures& figures, size_t label,
                      Weights weights, Rows rows) {
  ClassDetail detail{.roc = roc(figures.ranking(label), weights),
                     .band = {},
                     .reliability = figures.reliability(label).bins(weights),
                     .distributions = distributions(labels, predictions, label, weights),
                     .effective = effective(labels, weights)};
  detail.roc.points = thinned(detail.roc.points);
  const std::vector<uint8_t> is = labels.is(label);
  if (rows == Rows::kEvents)
    detail.delong_error = delong_error(placements(predictions.scores(label), is, weights), is, weights);
  return detail;
}

double delong_difference_error(const Labels& labels, const Predictions& a, const Predictions& b, size_t label,
                               Weights weights, Rows rows) {
  if (rows == Rows::kSteps) return std::numeric_limits<double>::quiet_NaN();
  const std::vector<uint8_t> is = labels.is(label);
  std::vector<double> difference = placements(a.scores(label), is, weights);
  const std::vector<double> other = placements(b.scores(label), is, weights);
  for (size_t event = 0; event < difference.size(); ++event) difference[event] -= other[event];
  return delong_error(difference, is, weights);
}

}  // namespace linac::scores
