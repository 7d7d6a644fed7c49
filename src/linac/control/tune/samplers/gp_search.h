#pragma once
// The point of a space where an acquisition function of Gaussian processes is largest: the best of many points, drawn
// evenly and around the best trials, are improved by L-BFGS-B; discrete parameters by trying their neighbours in turn.
// Pure.

#include <Eigen/Core>
#include <optional>

#include "linac/control/tune/history.h"
#include "linac/control/tune/sampler.h"

namespace linac::tune {

/// What is worth trying, by the features of a point (gp_data.h); as a logarithm, which tells points apart where the
/// value itself is 0 in double precision.
class Acquisition {
 public:
  virtual ~Acquisition() = default;
  /// `gradient`, if given, becomes that of the logarithm by the features; of categorical ones it is 0.
  virtual double at(const Eigen::VectorXd& x, Eigen::VectorXd* gradient) const = 0;
  /// Of many points, a row each.
  virtual Eigen::VectorXd of_rows(const Eigen::MatrixXd& x) const = 0;
};

/// A point that was not tried and that the constraints allow; nothing if none was met. The history has a told trial
/// that did not fail.
std::optional<Point> best_point(const History& history, const Acquisition& acquisition, const Ask& ask);

}  // namespace linac::tune
