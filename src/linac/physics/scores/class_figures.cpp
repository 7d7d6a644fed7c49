#include "linac/physics/scores/class_figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/physics/scores/roc.h"

namespace linac::scores {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kClip = std::numeric_limits<float>::epsilon();  // as scikit-learn clips float32

double log_loss(const Predictions& predictions, size_t event, size_t truth) {
  return -std::log(std::clamp(predictions.probability(event, truth), kClip, 1 - kClip));
}

// Of a single probability for two classes, summed over the columns for more.
double brier(const Predictions& predictions, size_t event, size_t truth, size_t classes) {
  double sum = 0;
  for (size_t label = predictions.binary() ? 1 : 0; label < classes; ++label) {
    const double off = predictions.probability(event, label) - (label == truth ? 1 : 0);
    sum += off * off;
  }
  return sum;
}

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : kNan;
}

// What a confusion matrix says about one class.
struct Tally {
  double hits = 0, truth = 0, decided = 0;
};

Tally tally(const std::vector<double>& confusion, size_t classes, size_t label) {
  Tally result{.hits = confusion[label * classes + label]};
  for (size_t other = 0; other < classes; ++other) {
    result.truth += confusion[label * classes + other];
    result.decided += confusion[other * classes + label];
  }
  return result;
}

}  // namespace

ClassFigures::ClassFigures(const Labels& labels, const Predictions& predictions) : classes_(labels.classes()) {
  LINAC_CHECK(classes_ <= std::numeric_limits<uint16_t>::max());
  for (const size_t k : {2, 3, 5})
    if (k < classes_) tops_.push_back(k);
  for (const char* name : {"accuracy", "balanced_accuracy", "log_loss", "brier", "ece"}) names_.emplace_back(name, -1);
  for (const size_t k : tops_) names_.emplace_back(fmt::format("top_{}", k), -1);
  for (size_t label = 0; label < classes_; ++label) {
    for (const RankScore& score : rank_scores()) names_.emplace_back(score.name, static_cast<int>(label));
    for (const double point : kWorkingPoints)
      names_.emplace_back(fmt::format("rejection_{:.0f}", 100 * point), static_cast<int>(label));
    for (const char* name : {"precision", "recall", "f1", "ece"}) names_.emplace_back(name, static_cast<int>(label));
    rankings_.emplace_back(predictions.scores(label), labels.is(label));
  }
  for (const char* name : {"auc_macro", "auc_weighted"}) names_.emplace_back(name, -1);

  reliabilities_.resize(classes_);
  for (size_t event = 0; event < labels.events(); ++event) {
    const size_t truth = labels.truth(event), decision = predictions.decision(event);
    truth_.push_back(static_cast<uint16_t>(truth));
    decision_.push_back(static_cast<uint16_t>(decision));
    rank_.push_back(static_cast<uint16_t>(predictions.rank(event, truth)));
    log_loss_.push_back(static_cast<float>(log_loss(predictions, event, truth)));
    brier_.push_back(static_cast<float>(brier(predictions, event, truth, classes_)));
    confidence_.add(predictions.probability(event, decision), decision == truth);
    for (size_t label = 0; label < classes_; ++label)
      reliabilities_[label].add(predictions.probability(event, label), label == truth);
  }
}

std::vector<double> ClassFigures::confusion(Weights weights) const {
  std::vector<double> counts(classes_ * classes_);
  for (size_t event = 0; event < truth_.size(); ++event)
    counts[truth_[event] * classes_ + decision_[event]] += weights[event];
  return counts;
}

void ClassFigures::add_overall(Weights weights, const std::vector<double>& confusion,
                               std::vector<double>& values) const {
  double events = 0, hits = 0, loss = 0, distance = 0, recall = 0, present = 0;
  std::vector<double> by_rank(classes_);
  for (size_t event = 0; event < truth_.size(); ++event) {
    const double weight = weights[event];
    events += weight;
    loss += weight * log_loss_[event];
    distance += weight * brier_[event];
    by_rank[rank_[event]] += weight;
  }
  for (size_t label = 0; label < classes_; ++label) {
    const Tally found = tally(confusion, classes_, label);
    hits += found.hits;
    if (!(found.truth > 0)) continue;
    recall += found.hits / found.truth;
    present += 1;
  }
  values = {hits / events, ratio(recall, present), loss / events, distance / events, confidence_.error(weights)};
  for (const size_t k : tops_) {
    double among = 0;
    for (size_t rank = 0; rank < k; ++rank) among += by_rank[rank];
    values.push_back(among / events);
  }
}

void ClassFigures::add_class(size_t label, Weights weights, const std::vector<double>& confusion,
                             std::vector<double>& values) const {
  const RankFigures ranks = rank_figures(rankings_[label], weights);
  const Tally found = tally(confusion, classes_, label);
  for (const RankScore& score : rank_scores()) values.push_back(ranks.*score.value);
  values.insert(values.end(), ranks.rejection.begin(), ranks.rejection.end());
  values.insert(values.end(),
                {ratio(found.hits, found.decided), ratio(found.hits, found.truth),
                 ratio(2 * found.hits, found.truth + found.decided), reliabilities_[label].error(weights)});
}

std::vector<double> ClassFigures::values(Weights weights) const {
  LINAC_CHECK(weights.size() == truth_.size());
  const std::vector<double> counts = confusion(weights);
  std::vector<double> values;
  add_overall(weights, counts, values);
  double sum = 0, present = 0, weighted = 0, events = 0;
  for (size_t label = 0; label < classes_; ++label) {
    const size_t at = values.size();
    add_class(label, weights, counts, values);
    if (std::isnan(values[at])) continue;
    const double truth = tally(counts, classes_, label).truth;
    sum += values[at];
    present += 1;
    weighted += truth * values[at];
    events += truth;
  }
  values.insert(values.end(), {ratio(sum, present), ratio(weighted, events)});
  return values;
}

}  // namespace linac::scores
