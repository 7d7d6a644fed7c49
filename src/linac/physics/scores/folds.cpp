#include "linac/physics/scores/folds.h"

#include <cmath>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

Estimate spread_of(const std::vector<const Estimate*>& folds) {
  double sum = 0, squares = 0;
  for (const Estimate* fold : folds) {
    if (fold == nullptr || !std::isfinite(fold->value) || !std::isnan(fold->above)) return {};
    sum += fold->value;
  }
  const auto n = static_cast<double>(folds.size());
  const double mean = sum / n;
  for (const Estimate* fold : folds) squares += (fold->value - mean) * (fold->value - mean);
  const double deviation = std::sqrt(squares / (n - 1));
  return {.value = mean, .error = deviation, .low = mean - deviation, .high = mean + deviation};
}

template <class Judgement>
std::vector<Score> scores_over(const Judgement& folds) {
  LINAC_CHECK(folds.models.size() > 1);
  std::vector<Score> scores;
  for (const Score& score : folds.models[0].scores) {
    std::vector<const Estimate*> of_folds;
    for (const auto& model : folds.models) of_folds.push_back(find(model.scores, score.name, score.part));
    scores.push_back({score.name, score.part, spread_of(of_folds)});
  }
  return scores;
}

std::vector<Estimate> band_over(const ClassifierJudgement& folds, size_t label, std::vector<Estimate> RocBand::*curve) {
  std::vector<Estimate> band;
  for (size_t place = 0; place < (folds.models[0].classes[label].band.*curve).size(); ++place) {
    std::vector<const Estimate*> of_folds;
    for (const Classification& model : folds.models) of_folds.push_back(&(model.classes[label].band.*curve)[place]);
    band.push_back(spread_of(of_folds));
  }
  return band;
}

}  // namespace

FoldFigures over_folds(const ClassifierJudgement& folds) {
  FoldFigures figures{.scores = scores_over(folds), .bands = {}};
  for (size_t label = 0; label < folds.models[0].classes.size(); ++label)
    figures.bands.push_back(
        {.tpr = band_over(folds, label, &RocBand::tpr), .rejection = band_over(folds, label, &RocBand::rejection)});
  return figures;
}

FoldFigures over_folds(const RegressionJudgement& folds) {
  return {.scores = scores_over(folds), .bands = {}};
}

}  // namespace linac::scores
