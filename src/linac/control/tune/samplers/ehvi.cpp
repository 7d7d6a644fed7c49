// Bayesian optimisation of several objectives: a Gaussian process for each (gp_data.h) and the expected hypervolume
// improvement (hypervolume_improvement.h) over what was told and what is expected of running trials.

#include "linac/control/tune/samplers/gp_data.h"
#include "linac/control/tune/samplers/gp_search.h"
#include "linac/control/tune/samplers/hypervolume_improvement.h"
#include "linac/control/tune/samplers/ranking.h"
#include "linac/control/tune/samplers/samplers.h"
#include "linac/control/tune/samplers/startup.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

/// Of all points of the processes what they were told; with noise what is expected there.
std::vector<Losses> rows_of(const std::vector<GpModel>& models, bool noisy) {
  std::vector<Losses> rows(static_cast<size_t>(models[0].data().y.size()));
  for (const GpModel& model : models) {
    VectorXd y = model.data().y, deviations;
    if (noisy) model.at(model.data().x, y, deviations);
    for (size_t i = 0; i < rows.size(); ++i) rows[i].push_back(y(static_cast<Index>(i)));
  }
  return rows;
}

class ExpectedHypervolume : public Acquisition {
 public:
  ExpectedHypervolume(const std::vector<GpModel>& models, bool noisy)
      : ExpectedHypervolume(models, rows_of(models, noisy)) {}

  double at(const VectorXd& x, VectorXd* gradient) const override {
    std::vector<GpModel::At> all;
    std::vector<double> means, deviations;
    for (const GpModel& model : models_) {
      all.push_back(model.at(x));
      means.push_back(all.back().mean), deviations.push_back(all.back().deviation);
    }
    const HypervolumeImprovement::At found = improvement_.at(means, deviations);
    if (gradient != nullptr) {
      gradient->setZero(x.size());
      for (size_t k = 0; k < all.size(); ++k)
        *gradient += found.by_mean[k] * all[k].mean_gradient + found.by_deviation[k] * all[k].deviation_gradient;
    }
    return found.log_value;
  }
  VectorXd of_rows(const MatrixXd& x) const override {
    std::vector<VectorXd> means(models_.size()), deviations(models_.size());
    for (size_t k = 0; k < models_.size(); ++k) models_[k].at(x, means[k], deviations[k]);
    VectorXd values(x.rows());
    for (Index i = 0; i < x.rows(); ++i) {
      std::vector<double> mean, deviation;
      for (size_t k = 0; k < models_.size(); ++k) mean.push_back(means[k](i)), deviation.push_back(deviations[k](i));
      values(i) = improvement_.at(mean, deviation).log_value;
    }
    return values;
  }

 private:
  ExpectedHypervolume(const std::vector<GpModel>& models, const std::vector<Losses>& rows)
      : models_(models), improvement_(rows, reference_of(rows)) {}

  const std::vector<GpModel>& models_;
  HypervolumeImprovement improvement_;
};

class Ehvi : public Sampler {
 public:
  explicit Ehvi(const SamplerSettings& settings) : settings_(settings) {}

  Point suggest(const History& history, const Ask& ask) override {
    const Space& space = history.space();
    if (history.complete_count() < 2 || ranked(history).size() < gp_startup(space, settings_))
      return startup_point(space, ask);
    const std::vector<GpModel> models = gp_models(history, settings_.noisy, hypers_);
    const auto best = best_point(history, ExpectedHypervolume(models, settings_.noisy), ask);
    return best ? *best : startup_point(space, ask);
  }

 private:
  SamplerSettings settings_;
  KeptHypers hypers_;
};

}  // namespace

std::unique_ptr<Sampler> make_ehvi(const SamplerSettings& settings) {
  return std::make_unique<Ehvi>(settings);
}

}  // namespace linac::tune
