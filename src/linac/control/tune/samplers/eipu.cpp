// Expected improvement per unit of cost: a second Gaussian process learns the logarithm of what trials took, and the
// expected improvement is divided by the cost that it expects (Snoek, Larochelle and Adams, "Practical Bayesian
// optimization of machine learning algorithms", NeurIPS 2012, section 3.2). Of a study with a budget the cost is raised
// to a power that falls from 1, where the first process begins, to 0, where the budget is spent (Lee, Perrone,
// Archambeau and Seeger, "Cost-aware Bayesian optimization", arXiv:2003.10870, 2020): a cheap search at
// first, the plain expected improvement at the end. Where nothing is known of costs it is that throughout.

#include <algorithm>
#include <cmath>
#include <optional>

#include "linac/control/tune/samplers/expected_improvement.h"
#include "linac/control/tune/samplers/gp_data.h"
#include "linac/control/tune/samplers/ranking.h"
#include "linac/control/tune/samplers/samplers.h"
#include "linac/control/tune/samplers/startup.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

/// Logarithms of costs, as they are: an even choice of the trials that have one above 0.
GpData log_costs(const History& history, size_t count, size_t most) {
  const Space& space = history.space();
  std::vector<const Trial*> trials;
  for (size_t i = 0; i < count; ++i)
    if (const Trial& trial = history.trials()[history.told()[i]]; trial.cost > 0) trials.push_back(&trial);
  const size_t rows = std::min(trials.size(), most);
  GpData data{MatrixXd(static_cast<Index>(rows), static_cast<Index>(space.size())), VectorXd(static_cast<Index>(rows)),
              categorical_features(space)};
  for (size_t i = 0; i < rows; ++i) {
    const Trial& trial = *trials[i * trials.size() / rows];
    data.x.row(static_cast<Index>(i)) = features_of(space, trial.point, trial.unit).transpose();
    data.y(static_cast<Index>(i)) = std::log(trial.cost);
  }
  return data;
}

/// What the logarithms are standardised by.
struct Scale {
  double mean = 0, deviation = 1;
};
Scale standardise(VectorXd& y) {
  Scale scale{y.mean(), 1};
  const double deviation = std::sqrt((y.array() - scale.mean).square().mean());
  if (deviation > 0) scale.deviation = deviation;
  y = (y.array() - scale.mean) / scale.deviation;
  return scale;
}

/// The logarithm of a log-normal variable's mean is m + s^2 / 2.
class Cost {
 public:
  Cost(GpData data, const GpHyper& hyper) : scale_(standardise(data.y)), model_(std::move(data), hyper) {}

  double log_at(const VectorXd& x, VectorXd* gradient) const {
    const GpModel::At at = model_.at(x);
    const double s = scale_.deviation;
    if (gradient != nullptr) *gradient = s * at.mean_gradient + s * s * at.deviation * at.deviation_gradient;
    return log_of(at.mean, at.deviation);
  }
  VectorXd log_of_rows(const MatrixXd& x) const {
    VectorXd means, deviations, values(x.rows());
    model_.at(x, means, deviations);
    for (Index i = 0; i < x.rows(); ++i) values(i) = log_of(means(i), deviations(i));
    return values;
  }

 private:
  double log_of(double mean, double deviation) const {
    const double s = scale_.deviation * deviation;
    return scale_.mean + scale_.deviation * mean + 0.5 * s * s;
  }

  Scale scale_;
  GpModel model_;
};

class ImprovementPerCost : public Acquisition {
 public:
  ImprovementPerCost(const ExpectedImprovement& improvement, const Cost& cost, double power)
      : improvement_(improvement), cost_(cost), power_(power) {}
  double at(const VectorXd& x, VectorXd* gradient) const override {
    VectorXd of_cost;
    const double value = improvement_.at(x, gradient), cost = cost_.log_at(x, gradient != nullptr ? &of_cost : nullptr);
    if (gradient != nullptr) *gradient -= power_ * of_cost;
    return value - power_ * cost;
  }
  VectorXd of_rows(const MatrixXd& x) const override { return improvement_.of_rows(x) - power_ * cost_.log_of_rows(x); }

 private:
  const ExpectedImprovement& improvement_;
  const Cost& cost_;
  double power_;
};

/// What is left of the budget, of what the first `startup` trials had left.
double cooled(const History& history, size_t startup) {
  const double budget = history.budget();
  if (budget <= 0) return 1;
  double first = 0;
  for (size_t i = 0; i < std::min(startup, history.told().size()); ++i)
    if (const double cost = history.trials()[history.told()[i]].cost; cost > 0) first += cost;
  if (!(first < budget)) return 0;
  return std::clamp((budget - history.spent()) / (budget - first), 0.0, 1.0);
}

class Eipu : public Sampler {
 public:
  explicit Eipu(const SamplerSettings& settings) : settings_(settings) {}

  Point suggest(const History& history, const Ask& ask) override {
    const Space& space = history.space();
    const size_t startup = gp_startup(space, settings_);
    if (history.complete_count() < 2 || ranked(history).size() < startup) return startup_point(space, ask);
    const GpModel model = std::move(gp_models(history, settings_.noisy, hypers_).front());
    const ExpectedImprovement improvement(model, settings_.noisy);
    const std::optional<Cost> cost = cost_of(history);
    const auto best = cost ? best_point(history, ImprovementPerCost(improvement, *cost, cooled(history, startup)), ask)
                           : best_point(history, improvement, ask);
    return best ? *best : startup_point(space, ask);
  }

 private:
  /// Nothing while two costs are not known.
  std::optional<Cost> cost_of(const History& history) {
    GpData data = log_costs(history, history.told().size(), kGpPointsMax);
    if (data.y.size() < 2) return std::nullopt;
    // Time repeats with some noise.
    const std::vector<GpHyper>& hypers = cost_hypers_.of(history, true, [&](size_t count) {
      std::vector<GpData> fitted{log_costs(history, count, kGpFitPointsMax)};
      standardise(fitted[0].y);
      return fitted;
    });
    return Cost(std::move(data), hypers[0]);
  }

  SamplerSettings settings_;
  KeptHypers hypers_, cost_hypers_;
};

}  // namespace

std::unique_ptr<Sampler> make_eipu(const SamplerSettings& settings) {
  return std::make_unique<Eipu>(settings);
}

}  // namespace linac::tune
