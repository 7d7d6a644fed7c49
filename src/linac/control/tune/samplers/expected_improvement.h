#pragma once
// The expected improvement over the least value of a Gaussian process. Pure, thread-safe.

#include "linac/control/tune/samplers/gp_model.h"
#include "linac/control/tune/samplers/gp_search.h"

namespace linac::tune {

class ExpectedImprovement : public Acquisition {
 public:
  /// `model` outlives this. `noisy`: over the least that is expected at a trial's point.
  ExpectedImprovement(const GpModel& model, bool noisy);
  double at(const Eigen::VectorXd& x, Eigen::VectorXd* gradient) const override;
  Eigen::VectorXd of_rows(const Eigen::MatrixXd& x) const override;

 private:
  const GpModel& model_;
  double target_;
};

}  // namespace linac::tune
