#include "linac/physics/scores/regression.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

constexpr double kTail = 0.005;  // of the residuals to either side of the histogram

void need_finite(const Table& table) {
  const auto bad = std::find_if(table.values.begin(), table.values.end(), [](float v) { return !std::isfinite(v); });
  if (bad == table.values.end()) return;
  throw data_error(fmt::format("[scores] {}: event {} has the value {}", table.name,
                               table.event(static_cast<size_t>(bad - table.values.begin()) / table.width), *bad));
}

void need_same_size(const Table& table, const Table& targets) {
  if (table.events() == targets.events() && table.width == targets.width) return;
  throw data_error(fmt::format("[scores] {} has {} events of {} values, but {} has {} of {}", table.name,
                               table.events(), table.width, targets.name, targets.events(), targets.width));
}

// The numbers of one model as functions of weights.
class RegressionFigures {
 public:
  RegressionFigures(const Table& targets, const Table& predictions) : targets_(targets), predictions_(predictions) {
    for (size_t output = 0; output < targets.width; ++output)
      for (const char* name : {"mse", "mae", "bias", "resolution", "r2"}) names_.emplace_back(name, output);
    if (targets.width > 1)
      for (const char* name : {"mse", "mae"}) names_.emplace_back(name, -1);
  }

  const std::vector<std::pair<std::string, int>>& names() const { return names_; }

  std::vector<double> values(Weights weights) const {
    std::vector<double> values;
    double squares = 0, sizes = 0;
    for (size_t output = 0; output < targets_.width; ++output) {
      add_output(output, weights, values);
      squares += values[values.size() - 5];
      sizes += values[values.size() - 4];
    }
    const auto outputs = static_cast<double>(targets_.width);
    if (targets_.width > 1) values.insert(values.end(), {squares / outputs, sizes / outputs});
    return values;
  }

 private:
  void add_output(size_t output, Weights weights, std::vector<double>& values) const {
    // Sums about the first event's values: of large numbers little is left otherwise.
    const double truth_origin = truth(0, output), residual_origin = residual(0, output);
    double events = 0, truths = 0, truth_squares = 0, sizes = 0, residuals = 0, residual_squares = 0;
    bool signed_weights = false;
    for (size_t event = 0; event < weights.size(); ++event) {
      const double weight = weights[event], t = truth(event, output) - truth_origin;
      const double whole = residual(event, output), r = whole - residual_origin;
      signed_weights = signed_weights || weight < 0;
      events += weight;
      truths += weight * t;
      truth_squares += weight * t * t;
      sizes += weight * std::abs(whole);
      residuals += weight * r;
      residual_squares += weight * r * r;
    }
    const double bias = residuals / events + residual_origin;
    double variance = residual_squares / events - std::pow(residuals / events, 2);
    if (!signed_weights) variance = std::max(0.0, variance);  // rounded; else there is none
    const double mse = variance + bias * bias, spread = truth_squares / events - std::pow(truths / events, 2);
    const double r2 = spread > 0 ? 1 - mse / spread : std::numeric_limits<double>::quiet_NaN();
    // Below 0 it is none, and keep_possible() leaves it out.
    const double resolution = std::copysign(std::sqrt(std::abs(variance)), variance);
    values.insert(values.end(), {mse, sizes / events, bias, resolution, r2});
  }

  double truth(size_t event, size_t output) const { return targets_.values[event * targets_.width + output]; }
  double residual(size_t event, size_t output) const {
    return predictions_.values[event * targets_.width + output] - truth(event, output);
  }

  Table targets_, predictions_;
  std::vector<std::pair<std::string, int>> names_;
};

std::vector<double> residuals_of(const Table& targets, const Table& predictions, size_t output) {
  std::vector<double> residuals;
  for (size_t i = output; i < targets.values.size(); i += targets.width)
    residuals.push_back(static_cast<double>(predictions.values[i]) - targets.values[i]);
  return residuals;
}

// The first and the last of a histogram's edges around all of them.
std::pair<double, double> central(std::vector<double> residuals) {
  std::sort(residuals.begin(), residuals.end());
  const auto last = static_cast<double>(residuals.size() - 1);
  const double low = residuals[static_cast<size_t>(kTail * last)];
  const double high = residuals[static_cast<size_t>(std::ceil((1 - kTail) * last))];
  return low < high ? std::pair{low, high} : std::pair{low - 0.5, low + 0.5};
}

Residuals histogram(const std::vector<double>& residuals, Weights weights, std::pair<double, double> range) {
  Residuals result{.low = range.first, .high = range.second, .counts = std::vector<double>(kResidualBins)};
  for (size_t i = 0; i < residuals.size(); ++i) {
    const double residual = residuals[i], weight = weights[i];
    const double place = (residual - range.first) / (range.second - range.first) * kResidualBins;
    if (place < 0) {
      result.below += weight;
    } else if (residual > range.second) {
      result.above += weight;
    } else {
      result.counts[std::min(static_cast<size_t>(place), kResidualBins - 1)] += weight;
    }
  }
  return result;
}

void add_histograms(const Table& targets, const std::vector<Table>& predictions, Weights weights,
                    RegressionJudgement& judgement) {
  for (size_t output = 0; output < targets.width; ++output) {
    std::vector<std::vector<double>> residuals;
    std::vector<double> all;
    for (const Table& one : predictions) {
      residuals.push_back(residuals_of(targets, one, output));
      all.insert(all.end(), residuals.back().begin(), residuals.back().end());
    }
    const auto range = central(std::move(all));
    for (size_t i = 0; i < predictions.size(); ++i)
      judgement.models[i].residuals.push_back(histogram(residuals[i], weights, range));
  }
}

}  // namespace

RegressionJudgement judge_regressions(const Table& targets, const std::vector<Table>& predictions,
                                      const BootstrapOptions& options) {
  LINAC_CHECK(predictions.size() == 1 || predictions.size() == 2);
  if (targets.events() == 0) throw user_error(fmt::format("[scores] {}: no events", targets.name));
  need_finite(targets);
  const std::vector<double> weights = event_weights(targets.events(), options);
  need_weight(weights);
  std::vector<RegressionFigures> figures;
  for (const Table& one : predictions) {
    need_same_size(one, targets);
    need_finite(one);
    figures.emplace_back(targets, one);
  }
  std::vector<Evaluate> as_functions;
  for (const auto& one : figures) as_functions.push_back([&one](Weights weights) { return one.values(weights); });
  const auto estimates = bootstrap_with_difference(targets.events(), options, as_functions);
  RegressionJudgement judgement;
  for (size_t i = 0; i < figures.size(); ++i)
    judgement.models.push_back({.scores = named(figures[i].names(), estimates[i]), .residuals = {}});
  if (predictions.size() == 2) judgement.difference = named(figures[0].names(), estimates[2]);
  std::vector<std::vector<Score>*> found;
  for (Regression& model : judgement.models) found.push_back(&model.scores);
  judgement.left_out = keep_possible(found, judgement.difference, {}, options);
  add_histograms(targets, predictions, weights, judgement);
  return judgement;
}

}  // namespace linac::scores
