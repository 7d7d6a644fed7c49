#include "linac/control/tune/samplers/gp_model.h"

#include <LBFGSB.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/control/tune/samplers/minimize.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

constexpr double kNoiseLeast = 1e-8;  // of standardised values: what keeps the Cholesky decomposition well
constexpr double kJitterMost = 1e-2;
constexpr int kIterationsMax = 60;
// The prior of the length scales l, in edges of the cube: log(1 / l^2) ~ N(1, 3), so 0.6 and a factor of 2.4 either
// way. Longer ones, as for many dimensions, keep half of the studies of Hartmann's function in a local minimum.
constexpr double kLogPrecision = 1, kLogPrecisionVariance = 3;
const double kSqrt5 = std::sqrt(5.0);

double square(double x) {
  return x * x;
}

// The squared distances of all pairs in one feature.
MatrixXd squares(const MatrixXd& x, const MatrixXd& other, Index feature, bool categorical) {
  MatrixXd result(x.rows(), other.rows());
  for (Index j = 0; j < other.rows(); ++j) {
    if (categorical)
      result.col(j) = (x.col(feature).array() != other(j, feature)).cast<double>();
    else
      result.col(j) = (x.col(feature).array() - other(j, feature)).square();
  }
  return result;
}

// r^2 to the Matern kernel; of `slope`, if given, its derivative by r^2 takes the place.
void matern(MatrixXd& squared, MatrixXd* slope) {
  if (slope != nullptr) slope->resize(squared.rows(), squared.cols());
  for (Index i = 0; i < squared.size(); ++i) {
    const double r2 = squared.data()[i], r = kSqrt5 * std::sqrt(r2), decay = std::exp(-r);
    squared.data()[i] = (1 + r + 5.0 / 3 * r2) * decay;
    if (slope != nullptr) slope->data()[i] = -5.0 / 6 * (1 + r) * decay;
  }
}

Eigen::LLT<MatrixXd> decomposed(const MatrixXd& covariance, double& noise) {
  for (;; noise *= 10) {
    LINAC_CHECK(noise <= kJitterMost || covariance.allFinite());
    MatrixXd with = covariance;
    with.diagonal().array() += noise;
    Eigen::LLT<MatrixXd> cholesky(with);
    if (cholesky.info() == Eigen::Success) return cholesky;
  }
}

// The negative logarithm of the posterior density by the logarithms of the hyper-parameters: precisions, scale, noise.
class Posterior {
 public:
  Posterior(const GpData& data, bool noisy) : data_(data), noisy_(noisy) {
    for (Index d = 0; d < data.x.cols(); ++d)
      squares_.push_back(squares(data.x, data.x, d, data.categorical[static_cast<size_t>(d)]));
  }

  double operator()(const VectorXd& logs, VectorXd& gradient) const {
    const Index d = data_.x.cols(), n = data_.x.rows();
    const double scale = std::exp(logs(d)), noise = noisy_ ? std::exp(logs(d + 1)) : kNoiseLeast;
    MatrixXd kernel = MatrixXd::Zero(n, n), slope;
    for (Index i = 0; i < d; ++i) kernel += std::exp(logs(i)) * squares_[static_cast<size_t>(i)];
    matern(kernel, &slope);
    MatrixXd covariance = scale * kernel;
    covariance.diagonal().array() += noise;
    const Eigen::LLT<MatrixXd> cholesky(covariance);
    gradient.setZero(logs.size());
    if (cholesky.info() != Eigen::Success) return std::numeric_limits<double>::infinity();
    const VectorXd alpha = cholesky.solve(data_.y);
    MatrixXd weights = cholesky.solve(MatrixXd::Identity(n, n));  // K^-1 - alpha alpha^T: eq. 5.9
    weights.noalias() -= alpha * alpha.transpose();
    double value = 0.5 * data_.y.dot(alpha) + cholesky.matrixLLT().diagonal().array().log().sum();
    gradient(d) = 0.5 * scale * weights.cwiseProduct(kernel).sum();
    if (noisy_) gradient(d + 1) = 0.5 * noise * weights.trace();
    weights = weights.cwiseProduct(slope).eval();
    for (Index i = 0; i < d; ++i)
      gradient(i) = 0.5 * scale * std::exp(logs(i)) * weights.cwiseProduct(squares_[static_cast<size_t>(i)]).sum();
    for (Index i = 0; i < d; ++i) {
      value += 0.5 * square(logs(i) - kLogPrecision) / kLogPrecisionVariance;
      gradient(i) += (logs(i) - kLogPrecision) / kLogPrecisionVariance;
    }
    value += 0.5 * square(logs(d));  // the scale: log-normal around that of the values
    gradient(d) += logs(d);
    if (noisy_) {
      value += 0.5 * square(logs(d + 1) + 4);  // the noise: log-normal around a fiftieth of it
      gradient(d + 1) += logs(d + 1) + 4;
    }
    return value;
  }

 private:
  const GpData& data_;
  bool noisy_;
  std::vector<MatrixXd> squares_;
};

}  // namespace

GpHyper fit_hyper(const GpData& data, bool noisy) {
  const Index d = data.x.cols();
  const Posterior posterior(data, noisy);
  const Index size = d + 1 + (noisy ? 1 : 0);
  VectorXd low = VectorXd::Constant(size, std::log(1e-4)), high = VectorXd::Constant(size, std::log(1e4));
  low(d) = std::log(1e-3);
  if (noisy) low(d + 1) = std::log(kNoiseLeast), high(d + 1) = 0;
  Minimum best;
  for (const double precision : {std::log(1.0), std::log(25.0)}) {
    VectorXd start = VectorXd::Constant(size, precision);
    start(d) = 0;
    if (noisy) start(d + 1) = -4;
    Minimum found = minimize(posterior, start, low, high, kIterationsMax);
    if (best.x.size() == 0 || found.value < best.value) best = std::move(found);
  }
  return {best.x.head(d).array().exp(), std::exp(best.x(d)), noisy ? std::exp(best.x(d + 1)) : kNoiseLeast};
}

GpModel::GpModel(GpData data, GpHyper hyper) : data_(std::move(data)), hyper_(std::move(hyper)) {
  const Index n = data_.x.rows();
  MatrixXd covariance = MatrixXd::Zero(n, n);
  for (Index d = 0; d < data_.x.cols(); ++d)
    covariance += hyper_.precisions(d) * squares(data_.x, data_.x, d, data_.categorical[static_cast<size_t>(d)]);
  matern(covariance, nullptr);
  covariance *= hyper_.scale;
  cholesky_ = decomposed(covariance, hyper_.noise);
  alpha_ = cholesky_.solve(data_.y);
}

GpModel::At GpModel::at(const VectorXd& x) const {
  const Index n = data_.x.rows(), features = data_.x.cols();
  MatrixXd kernel = MatrixXd::Zero(n, 1), slope;
  for (Index d = 0; d < features; ++d)
    kernel += hyper_.precisions(d) * squares(data_.x, x.transpose(), d, data_.categorical[static_cast<size_t>(d)]);
  matern(kernel, &slope);
  const VectorXd k = hyper_.scale * kernel.col(0);
  const VectorXd half = cholesky_.matrixL().solve(k);
  const VectorXd whole = cholesky_.matrixU().solve(half);
  At at{k.dot(alpha_), std::sqrt(std::max(hyper_.scale - half.squaredNorm(), 1e-16)), VectorXd::Zero(features),
        VectorXd::Zero(features)};
  for (Index d = 0; d < features; ++d) {
    if (data_.categorical[static_cast<size_t>(d)]) continue;
    const VectorXd change =
        2 * hyper_.scale * hyper_.precisions(d) * slope.col(0).cwiseProduct((x(d) - data_.x.col(d).array()).matrix());
    at.mean_gradient(d) = change.dot(alpha_);
    at.deviation_gradient(d) = -change.dot(whole) / at.deviation;
  }
  return at;
}

void GpModel::at(const MatrixXd& x, VectorXd& means, VectorXd& deviations) const {
  MatrixXd kernel = MatrixXd::Zero(data_.x.rows(), x.rows());
  for (Index d = 0; d < data_.x.cols(); ++d)
    kernel += hyper_.precisions(d) * squares(data_.x, x, d, data_.categorical[static_cast<size_t>(d)]);
  matern(kernel, nullptr);
  kernel *= hyper_.scale;
  means = kernel.transpose() * alpha_;
  cholesky_.matrixL().solveInPlace(kernel);
  deviations = (hyper_.scale - kernel.colwise().squaredNorm().array()).max(1e-16).sqrt().matrix().transpose();
}

}  // namespace linac::tune
