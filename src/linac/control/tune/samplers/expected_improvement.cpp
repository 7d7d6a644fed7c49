#include "linac/control/tune/samplers/expected_improvement.h"

#include "linac/control/tune/samplers/improvement.h"

namespace linac::tune {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

ExpectedImprovement::ExpectedImprovement(const GpModel& model, bool noisy)
    : model_(model), target_(model.data().y.minCoeff()) {
  if (!noisy) return;
  VectorXd means, deviations;
  model.at(model.data().x, means, deviations);
  target_ = means.minCoeff();
}

double ExpectedImprovement::at(const VectorXd& x, VectorXd* gradient) const {
  const GpModel::At at = model_.at(x);
  const Improvement found = log_improvement(target_, at.mean, at.deviation);
  if (gradient != nullptr) *gradient = found.by_mean * at.mean_gradient + found.by_deviation * at.deviation_gradient;
  return found.log_value;
}

VectorXd ExpectedImprovement::of_rows(const MatrixXd& x) const {
  VectorXd means, deviations, values(x.rows());
  model_.at(x, means, deviations);
  for (Index i = 0; i < x.rows(); ++i) values(i) = log_improvement(target_, means(i), deviations(i)).log_value;
  return values;
}

}  // namespace linac::tune
