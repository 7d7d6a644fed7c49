// Bayesian optimisation with a Gaussian process (gp_model.h) and the logarithm of the expected improvement
// (improvement.h). The best of many points, drawn evenly and around the best trials, are improved by L-BFGS-B; discrete
// parameters by trying their neighbours in turn. Running trials count as if they had given what the process expects of
// them (the Kriging believer of Ginsbourger, Le Riche and Carraro, 2010). Infeasible trials count as the worst one.
//
// Beyond kPointsMax trials the process sees the best half of so many and an even choice among the others. Its
// hyper-parameters are looked for anew at every trial up to kFitEach, then at every kFitEvery-th share of the trials.

#include <algorithm>
#include <cmath>
#include <optional>

#include "linac/control/tune/samplers/gp_model.h"
#include "linac/control/tune/samplers/improvement.h"
#include "linac/control/tune/samplers/minimize.h"
#include "linac/control/tune/samplers/ranking.h"
#include "linac/control/tune/samplers/samplers.h"
#include "linac/control/tune/samplers/startup.h"
#include "linac/control/tune/samplers/warp.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

constexpr uint32_t kUse = 7;
constexpr uint32_t kSequence = 2;  // of the Sobol sequences of a seed
constexpr size_t kStartup = 10, kStartupOfCategorical = 3;
constexpr size_t kPointsMax = 250;     // of the process
constexpr size_t kFitPointsMax = 150;  // of the search for hyper-parameters
constexpr size_t kFitEach = 100;
constexpr size_t kFitEvery = 20;
constexpr size_t kEven = 256, kNear = 128;  // points that are compared
constexpr size_t kStarts = 6;               // of them are improved
constexpr int kIterationsMax = 40;
constexpr int64_t kCellsAllTried = 16;  // more values: neighbours alone
constexpr int kSweepsMax = 3;

// A feature for each parameter: its coordinate, or of a categorical one its choice; where it is inactive the middle, or
// -1.
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

struct Candidate {
  std::vector<double> unit;
  double value = 0;   // log improvement
  bool even = false;  // drawn all over the cube, not around a trial
};

class GaussianProcess : public Sampler {
 public:
  explicit GaussianProcess(const SamplerSettings& settings) : settings_(settings) {}

  Point suggest(const History& history, const Ask& ask) override {
    const Space& space = history.space();
    const size_t startup = startup_of(space);
    if (history.complete_count() < 2 || ranked(history).size() < startup) return startup_point(space, ask);
    const GpModel model = model_of(history);
    const double target = target_of(model, history);
    std::vector<Candidate> candidates = starts(history, model, target, ask);
    if (candidates.empty()) return startup_point(space, ask);
    Candidate* best = nullptr;
    for (Candidate& one : candidates) {
      improve(space, model, target, one);
      const Point point = space.point_of(one.unit);
      if ((best == nullptr || one.value > best->value) && space.allows(point) && !history.seen(point)) best = &one;
    }
    if (best == nullptr) return startup_point(space, ask);
    return space.point_of(best->unit);
  }

 private:
  // A few more where there are branches, or the process may never see a good point of one.
  size_t startup_of(const Space& space) const {
    if (settings_.startup > 0) return static_cast<size_t>(settings_.startup);
    size_t count = kStartup;
    for (const Parameter& parameter : space.parameters()) count += parameter.categorical() ? kStartupOfCategorical : 0;
    return count;
  }

  // Of `count` told trials, what the process learns from, the best first.
  static GpData data_of(const History& history, size_t count, size_t most) {
    const Space& space = history.space();
    std::vector<const Trial*> trials;
    std::vector<double> losses;
    double worst = -std::numeric_limits<double>::infinity();
    std::vector<double> complete;
    for (size_t i = 0; i < count; ++i) {
      const Trial& trial = history.trials()[history.told()[i]];
      if (trial.state == State::kComplete) complete.push_back(trial.losses[0]);
    }
    std::sort(complete.begin(), complete.end());
    worst = complete.empty() ? 0 : complete.back();
    const double median = complete.empty() ? 0 : complete[complete.size() / 2];
    for (size_t i = 0; i < count; ++i) {
      const Trial& trial = history.trials()[history.told()[i]];
      if (trial.state == State::kFailed) continue;
      trials.push_back(&trial);
      double loss = worst;
      if (trial.state == State::kComplete) loss = trial.losses[0];
      // What was pruned was no better than half of the others.
      if (trial.state == State::kPruned && !trial.curve.empty())
        loss = std::clamp(trial.curve.back().second, median, worst);
      losses.push_back(loss);
    }
    const VectorXd y = warped(Eigen::Map<const VectorXd>(losses.data(), static_cast<Index>(losses.size())));
    std::vector<size_t> chosen(trials.size());
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
    std::stable_sort(chosen.begin(), chosen.end(),
                     [&](size_t one, size_t other) { return losses[one] < losses[other]; });
    if (chosen.size() > most) {
      std::vector<size_t> fewer(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(most / 2));
      const size_t others = chosen.size() - most / 2, wanted = most - most / 2;
      for (size_t i = 0; i < wanted; ++i) fewer.push_back(chosen[most / 2 + i * others / wanted]);
      chosen = std::move(fewer);
    }
    GpData data{MatrixXd(static_cast<Index>(chosen.size()), static_cast<Index>(space.size())),
                VectorXd(static_cast<Index>(chosen.size())),
                {}};
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Trial& trial = *trials[chosen[i]];
      data.x.row(static_cast<Index>(i)) = features_of(space, trial.point, trial.unit).transpose();
      data.y(static_cast<Index>(i)) = y(static_cast<Index>(chosen[i]));
    }
    for (const Parameter& parameter : space.parameters()) data.categorical.push_back(parameter.categorical());
    return data;
  }

  const GpHyper& hyper_of(const History& history) {
    size_t count = history.told().size();
    if (count > kFitEach) count -= count % std::max<size_t>(count / kFitEvery, 1);
    if (!hyper_ || hyper_count_ != count || hyper_fingerprint_ != history.fingerprint(count)) {
      hyper_ = fit_hyper(data_of(history, count, kFitPointsMax), settings_.noisy);
      hyper_count_ = count;
      hyper_fingerprint_ = history.fingerprint(count);
    }
    return *hyper_;
  }

  GpModel model_of(const History& history) {
    GpData data = data_of(history, history.told().size(), kPointsMax);
    const GpHyper& hyper = hyper_of(history);
    GpModel model(data, hyper);
    const std::vector<size_t> others = running(history);
    if (others.empty()) return model;
    const Index told = data.x.rows(), more = static_cast<Index>(others.size());
    MatrixXd x(more, data.x.cols());
    for (Index i = 0; i < more; ++i) {
      const Trial& trial = history.trials()[others[static_cast<size_t>(i)]];
      x.row(i) = features_of(history.space(), trial.point, trial.unit).transpose();
    }
    VectorXd means, deviations;
    model.at(x, means, deviations);
    data.x.conservativeResize(told + more, Eigen::NoChange);
    data.x.bottomRows(more) = x;
    data.y.conservativeResize(told + more);
    data.y.tail(more) = means;
    return {data, hyper};
  }

  // The least value; with noise the least that is expected at a trial's point.
  double target_of(const GpModel& model, const History&) const {
    if (!settings_.noisy) return model.data().y.minCoeff();
    VectorXd means, deviations;
    model.at(model.data().x, means, deviations);
    return means.minCoeff();
  }

  static std::vector<Candidate> starts(const History& history, const GpModel& model, double target, const Ask& ask) {
    const Space& space = history.space();
    Draws draws(ask, kUse);
    std::vector<Candidate> all;
    const std::vector<double> even =
        sobol_points(ask.seed ^ (static_cast<uint64_t>(ask.number) * 0x9E3779B97F4A7C15U + ask.attempt), kEven,
                     space.size(), kSequence);
    for (size_t i = 0; i < kEven; ++i)
      all.push_back({{even.begin() + static_cast<std::ptrdiff_t>(i * space.size()),
                      even.begin() + static_cast<std::ptrdiff_t>((i + 1) * space.size())},
                     0,
                     true});
    const std::vector<size_t> order = ranked(history);
    for (size_t i = 0; i < kNear; ++i) {
      const Trial& trial = history.trials()[order[draws.below(std::min<size_t>(order.size(), 8))]];
      Candidate one{trial.unit, 0, false};
      const double reach = std::pow(10.0, -3 * draws.uniform());
      for (size_t d = 0; d < space.size(); ++d) {
        if (std::isnan(trial.point[d]) || (space[d].categorical() && draws.uniform() < 0.2))
          one.unit[d] = draws.uniform();
        else if (!space[d].categorical())
          one.unit[d] = std::clamp(one.unit[d] + reach * draws.normal() * 0.3, 0.0, 1.0);
      }
      all.push_back(std::move(one));
    }
    std::erase_if(all, [&](const Candidate& one) {
      const Point point = space.point_of(one.unit);
      return !space.allows(point) || history.seen(point);
    });
    MatrixXd x(static_cast<Index>(all.size()), static_cast<Index>(space.size()));
    for (size_t i = 0; i < all.size(); ++i)
      x.row(static_cast<Index>(i)) = features_of(space, space.point_of(all[i].unit), all[i].unit).transpose();
    VectorXd means, deviations;
    if (!all.empty()) model.at(x, means, deviations);
    for (size_t i = 0; i < all.size(); ++i)
      all[i].value = log_improvement(target, means(static_cast<Index>(i)), deviations(static_cast<Index>(i))).log_value;
    std::stable_sort(all.begin(), all.end(),
                     [](const Candidate& one, const Candidate& other) { return one.value > other.value; });
    return spread(all);
  }

  // The best ones that are not next to a better one, half of them from all over the cube: the best of those around
  // trials lie together, and what is improved from them stays there.
  static std::vector<Candidate> spread(const std::vector<Candidate>& sorted) {
    std::vector<Candidate> chosen;
    add_spread(sorted, kStarts / 2, 0.1, true, chosen);
    add_spread(sorted, kStarts, 0.1, false, chosen);
    add_spread(sorted, kStarts, 0, false, chosen);
    return chosen;
  }

  static void add_spread(const std::vector<Candidate>& sorted, size_t most, double distance, bool even_alone,
                         std::vector<Candidate>& chosen) {
    for (const Candidate& one : sorted) {
      if (chosen.size() >= most) return;
      if (even_alone && !one.even) continue;
      const bool near = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate& other) {
        double largest = 0;
        for (size_t d = 0; d < one.unit.size(); ++d) largest = std::max(largest, std::abs(one.unit[d] - other.unit[d]));
        return largest <= distance;
      });
      if (!near) chosen.push_back(one);
    }
  }

  static double value_at(const Space& space, const GpModel& model, double target, const std::vector<double>& unit) {
    const GpModel::At at = model.at(features_of(space, space.point_of(unit), unit));
    return log_improvement(target, at.mean, at.deviation).log_value;
  }

  static void improve(const Space& space, const GpModel& model, double target, Candidate& one) {
    for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
      improve_numbers(space, model, target, one);
      if (!improve_cells(space, model, target, one)) return;
    }
  }

  static void improve_numbers(const Space& space, const GpModel& model, double target, Candidate& one) {
    const Point point = space.point_of(one.unit);
    std::vector<size_t> free;
    for (size_t d = 0; d < space.size(); ++d)
      if (!space[d].discrete() && !std::isnan(point[d])) free.push_back(d);
    if (free.empty()) return;
    const auto size = static_cast<Index>(free.size());
    VectorXd x = features_of(space, point, one.unit);
    VectorXd start(size);
    for (Index i = 0; i < size; ++i) start(i) = one.unit[free[static_cast<size_t>(i)]];
    const auto loss = [&](const VectorXd& values, VectorXd& gradient) {
      for (Index i = 0; i < size; ++i) x(static_cast<Index>(free[static_cast<size_t>(i)])) = values(i);
      const GpModel::At at = model.at(x);
      const Improvement found = log_improvement(target, at.mean, at.deviation);
      gradient.resize(size);
      for (Index i = 0; i < size; ++i) {
        const auto d = static_cast<Index>(free[static_cast<size_t>(i)]);
        gradient(i) = -(found.by_mean * at.mean_gradient(d) + found.by_deviation * at.deviation_gradient(d));
      }
      return -found.log_value;
    };
    const Minimum found = minimize(loss, start, VectorXd::Zero(size), VectorXd::Ones(size), kIterationsMax);
    std::vector<double> unit = one.unit;
    for (Index i = 0; i < size; ++i) unit[free[static_cast<size_t>(i)]] = std::clamp(found.x(i), 0.0, 1.0);
    if (!space.allows(space.point_of(unit))) return;
    one.unit = std::move(unit);
    one.value = -found.value;
  }

  // Something was improved.
  static bool improve_cells(const Space& space, const GpModel& model, double target, Candidate& one) {
    bool improved = false;
    for (size_t d = 0; d < space.size(); ++d) {
      if (!space[d].discrete() || std::isnan(space.point_of(one.unit)[d])) continue;
      const int64_t now = space[d].cell_of(one.unit[d]), cells = space[d].cells;
      const bool all = cells <= kCellsAllTried;
      for (int64_t cell = all ? 0 : std::max<int64_t>(now - 2, 0); cell < (all ? cells : std::min(now + 3, cells));
           ++cell) {
        if (cell == now) continue;
        Candidate other = one;
        other.unit[d] = (static_cast<double>(cell) + 0.5) / static_cast<double>(cells);
        if (!space.allows(space.point_of(other.unit))) continue;
        other.value = value_at(space, model, target, other.unit);
        if (other.value > one.value) one = std::move(other), improved = true;
      }
    }
    return improved;
  }

  SamplerSettings settings_;
  std::optional<GpHyper> hyper_;  // of the first hyper_count_ of what was told
  size_t hyper_count_ = 0;
  uint64_t hyper_fingerprint_ = 0;
};

}  // namespace

std::unique_ptr<Sampler> make_gaussian_process(const SamplerSettings& settings) {
  return std::make_unique<GaussianProcess>(settings);
}

}  // namespace linac::tune
