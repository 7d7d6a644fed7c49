#pragma once
// A Gaussian process over the unit cube (Rasmussen and Williams, "Gaussian processes for machine learning", 2006): zero
// mean, Matern kernel with nu = 5/2 (eq. 4.17) and a length scale for each feature, whose hyper-parameters have the
// largest posterior density (eq. 5.9 with priors). A categorical feature counts as a distance of 1 where it differs.
// Targets are expected to be standardised. Linear algebra: Eigen; the search of hyper-parameters: L-BFGS-B of LBFGSpp.
// Not changed once it is made; thread-safe.

#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <vector>

namespace linac::tune {

struct GpHyper {
  Eigen::VectorXd precisions;  // 1 / length scale^2, of each feature
  double scale = 1;            // variance of the function
  double noise = 1e-6;         // variance of a value around it
};

/// What a process is made from: a row of `x` a point, features in [0, 1].
struct GpData {
  Eigen::MatrixXd x;
  Eigen::VectorXd y;
  std::vector<bool> categorical;  // of each feature
};

/// The hyper-parameters of the largest posterior density. `noisy`: values repeat with some noise, which is then one of
/// them; else it is a trifle.
GpHyper fit_hyper(const GpData& data, bool noisy);

class GpModel {
 public:
  GpModel(GpData data, GpHyper hyper);

  struct At {
    double mean = 0, deviation = 0;
    Eigen::VectorXd mean_gradient, deviation_gradient;  // by the features; categorical ones: 0
  };
  At at(const Eigen::VectorXd& x) const;
  /// Of many points, a row each: means and deviations, without gradients.
  void at(const Eigen::MatrixXd& x, Eigen::VectorXd& means, Eigen::VectorXd& deviations) const;

  const GpHyper& hyper() const { return hyper_; }
  const GpData& data() const { return data_; }

 private:
  GpData data_;
  GpHyper hyper_;
  Eigen::LLT<Eigen::MatrixXd> cholesky_;
  Eigen::VectorXd alpha_;  // of the targets, by the inverse of the covariance
};

}  // namespace linac::tune
