#include "linac/control/tune/samplers/gp_data.h"

#include <algorithm>
#include <cmath>

#include "linac/control/tune/pareto.h"
#include "linac/control/tune/samplers/ranking.h"
#include "linac/control/tune/samplers/warp.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

constexpr size_t kStartup = 10, kStartupOfCategorical = 3;
constexpr size_t kFitEach = 100;
constexpr size_t kFitEvery = 20;

/// Losses of an objective, whatever became of the trials.
std::vector<double> losses_of(const std::vector<const Trial*>& trials, size_t objective) {
  std::vector<double> complete;
  for (const Trial* trial : trials)
    if (trial->state == State::kComplete) complete.push_back(trial->losses[objective]);
  std::sort(complete.begin(), complete.end());
  const double worst = complete.empty() ? 0 : complete.back();
  const double median = complete.empty() ? 0 : complete[complete.size() / 2];
  std::vector<double> losses;
  for (const Trial* trial : trials) {
    double loss = worst;
    if (trial->state == State::kComplete) loss = trial->losses[objective];
    // What was pruned was no better than half of the others; its curve is of the first objective.
    if (trial->state == State::kPruned && !trial->curve.empty() && objective == 0)
      loss = std::clamp(trial->curve.back().second, median, worst);
    losses.push_back(loss);
  }
  return losses;
}

/// At most `most` positions, the best first: by their loss, of several by their front.
std::vector<size_t> chosen_of(const std::vector<std::vector<double>>& losses, size_t most) {
  const size_t count = losses[0].size();
  std::vector<double> keys = losses[0];
  if (losses.size() > 1) {
    std::vector<Losses> rows(count);
    for (size_t i = 0; i < count; ++i)
      for (const std::vector<double>& of : losses) rows[i].push_back(of[i]);
    const std::vector<size_t> fronts = fronts_of(rows);
    keys.assign(fronts.begin(), fronts.end());
  }
  std::vector<size_t> chosen(count);
  for (size_t i = 0; i < count; ++i) chosen[i] = i;
  std::stable_sort(chosen.begin(), chosen.end(), [&](size_t one, size_t other) { return keys[one] < keys[other]; });
  if (count <= most) return chosen;
  std::vector<size_t> fewer(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(most / 2));
  const size_t others = count - most / 2, wanted = most - most / 2;
  for (size_t i = 0; i < wanted; ++i) fewer.push_back(chosen[most / 2 + i * others / wanted]);
  return fewer;
}

}  // namespace

// A few more where there are branches, or the process may never see a good point of one.
size_t gp_startup(const Space& space, const SamplerSettings& settings) {
  if (settings.startup > 0) return static_cast<size_t>(settings.startup);
  size_t count = kStartup;
  for (const Parameter& parameter : space.parameters()) count += parameter.categorical() ? kStartupOfCategorical : 0;
  return count;
}

VectorXd features_of(const Space& space, const Point& point, const std::vector<double>& unit) {
  VectorXd x(static_cast<Index>(space.size()));
  for (size_t i = 0; i < space.size(); ++i) {
    const bool active = !std::isnan(point[i]);
    double& feature = x(static_cast<Index>(i));
    if (space[i].categorical())
      feature = active ? point[i] : -1;
    else
      feature = !active ? 0.5 : space[i].discrete() ? space[i].unit_of(point[i]) : unit[i];
  }
  return x;
}

std::vector<bool> categorical_features(const Space& space) {
  std::vector<bool> categorical;
  for (const Parameter& parameter : space.parameters()) categorical.push_back(parameter.categorical());
  return categorical;
}

std::vector<GpData> gp_data(const History& history, size_t count, size_t most) {
  const Space& space = history.space();
  std::vector<const Trial*> trials;
  for (size_t i = 0; i < count; ++i)
    if (const Trial& trial = history.trials()[history.told()[i]]; trial.state != State::kFailed)
      trials.push_back(&trial);
  std::vector<std::vector<double>> losses;
  for (size_t k = 0; k < history.objectives(); ++k) losses.push_back(losses_of(trials, k));
  const std::vector<size_t> chosen = chosen_of(losses, most);
  const auto rows = static_cast<Index>(chosen.size());
  MatrixXd x(rows, static_cast<Index>(space.size()));
  for (Index i = 0; i < rows; ++i) {
    const Trial& trial = *trials[chosen[static_cast<size_t>(i)]];
    x.row(i) = features_of(space, trial.point, trial.unit).transpose();
  }
  std::vector<GpData> all;
  for (const std::vector<double>& of : losses) {
    const VectorXd y = warped(Eigen::Map<const VectorXd>(of.data(), static_cast<Index>(of.size())));
    GpData data{x, VectorXd(rows), categorical_features(space)};
    for (Index i = 0; i < rows; ++i) data.y(i) = y(static_cast<Index>(chosen[static_cast<size_t>(i)]));
    all.push_back(std::move(data));
  }
  return all;
}

const std::vector<GpHyper>& KeptHypers::of(const History& history, bool noisy,
                                           const std::function<std::vector<GpData>(size_t count)>& data) {
  size_t count = history.told().size();
  if (count > kFitEach) count -= count % std::max<size_t>(count / kFitEvery, 1);
  if (hypers_.empty() || count_ != count || fingerprint_ != history.fingerprint(count)) {
    hypers_.clear();
    for (const GpData& one : data(count)) hypers_.push_back(fit_hyper(one, noisy));
    count_ = count;
    fingerprint_ = history.fingerprint(count);
  }
  return hypers_;
}

std::vector<GpModel> gp_models(const History& history, bool noisy, KeptHypers& kept) {
  const std::vector<GpHyper>& hypers =
      kept.of(history, noisy, [&](size_t count) { return gp_data(history, count, kGpFitPointsMax); });
  const std::vector<size_t> others = running(history);
  const auto more = static_cast<Index>(others.size());
  MatrixXd x(more, static_cast<Index>(history.space().size()));
  for (Index i = 0; i < more; ++i) {
    const Trial& trial = history.trials()[others[static_cast<size_t>(i)]];
    x.row(i) = features_of(history.space(), trial.point, trial.unit).transpose();
  }
  std::vector<GpModel> models;
  for (GpData& data : gp_data(history, history.told().size(), kGpPointsMax)) {
    const GpHyper& hyper = hypers[models.size()];
    GpModel model(data, hyper);
    if (others.empty()) {
      models.push_back(std::move(model));
      continue;
    }
    VectorXd means, deviations;
    model.at(x, means, deviations);
    const Index told = data.x.rows();
    data.x.conservativeResize(told + more, Eigen::NoChange);
    data.x.bottomRows(more) = x;
    data.y.conservativeResize(told + more);
    data.y.tail(more) = means;
    models.emplace_back(std::move(data), hyper);
  }
  return models;
}

}  // namespace linac::tune
