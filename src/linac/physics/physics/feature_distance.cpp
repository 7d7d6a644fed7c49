#include "linac/physics/physics/feature_distance.h"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

// Of a symmetric matrix without negative eigenvalues but for rounding.
Matrix square_root(const Matrix& matrix) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(matrix);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0).cwiseSqrt().asDiagonal() *
         solver.eigenvectors().transpose();
}

// Mean of the kernel over pairs of different rows.
double mean_without_diagonal(const Matrix& kernel, const Vector& weights) {
  const double total = weights.sum(), square = weights.squaredNorm();
  const double same = (weights.array().square() * kernel.diagonal().array()).sum();
  const double pairs = total * total - square;
  return pairs > 0 ? (weights.dot(kernel * weights) - same) / pairs : 0;
}

}  // namespace

Scaling scaling_of(const Matrix& features) {
  LINAC_CHECK(features.rows() > 0);
  Scaling scaling{features.colwise().mean(), {}};
  const auto rows = static_cast<double>(features.rows());
  scaling.deviation = ((features.rowwise() - scaling.mean).colwise().squaredNorm() / rows).cwiseSqrt();
  // A width that is only rounding of a constant would magnify it.
  for (Eigen::Index i = 0; i < scaling.deviation.size(); ++i)
    if (!(scaling.deviation[i] > 1e-9 * std::abs(scaling.mean[i]))) scaling.deviation[i] = 1;
  return scaling;
}

Matrix standardise(const Matrix& features, const Scaling& scaling) {
  return ((features.rowwise() - scaling.mean).array().rowwise() / scaling.deviation.array()).matrix();
}

Gaussian gaussian(const Matrix& features, const Vector& weights) {
  LINAC_CHECK(features.rows() == weights.size());
  const double total = weights.sum();
  if (!(total > 1)) return {Vector::Zero(features.cols()), Matrix::Zero(features.cols(), features.cols())};
  Gaussian result;
  result.mean = features.transpose() * weights / total;
  const Matrix centred = features.rowwise() - result.mean.transpose();
  result.covariance = centred.transpose() * weights.asDiagonal() * centred / (total - 1);
  return result;
}

double frechet_distance(const Gaussian& a, const Gaussian& b) {
  const Matrix root = square_root(a.covariance);
  // tr (Ca Cb)^1/2 = tr (Ca^1/2 Cb Ca^1/2)^1/2, and the latter is symmetric.
  const Matrix product = root * b.covariance * root;
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(product, Eigen::EigenvaluesOnly);
  return (a.mean - b.mean).squaredNorm() + a.covariance.trace() + b.covariance.trace() -
         2 * solver.eigenvalues().cwiseMax(0).cwiseSqrt().sum();
}

Matrix kernel_matrix(const Matrix& a, const Matrix& b) {
  LINAC_CHECK(a.cols() == b.cols() && a.cols() > 0);
  return ((a * b.transpose() / static_cast<double>(a.cols())).array() + 1).square().square().matrix();
}

double kernel_distance(const Matrix& aa, const Matrix& bb, const Matrix& ab, const Vector& a_weights,
                       const Vector& b_weights) {
  const double pairs = a_weights.sum() * b_weights.sum();
  if (!(pairs > 0)) return 0;
  return mean_without_diagonal(aa, a_weights) + mean_without_diagonal(bb, b_weights) -
         2 * a_weights.dot(ab * b_weights) / pairs;
}

Matrix correlation(const Gaussian& gaussian) {
  const Vector width = gaussian.covariance.diagonal().cwiseMax(0).cwiseSqrt();
  Matrix result = gaussian.covariance;
  for (Eigen::Index i = 0; i < result.rows(); ++i) {
    for (Eigen::Index j = 0; j < result.cols(); ++j) {
      const double norm = width[i] * width[j];
      result(i, j) = norm > 0 ? result(i, j) / norm : 0;
    }
  }
  return result;
}

double correlation_distance(const Matrix& a, const Matrix& b) {
  LINAC_CHECK(a.rows() == b.rows() && a.rows() > 1);
  const Matrix difference = a - b;
  const double off_diagonal = difference.squaredNorm() - difference.diagonal().squaredNorm();
  const auto n = static_cast<double>(a.rows());
  return std::sqrt(std::max(0.0, off_diagonal) / (n * (n - 1)));
}

}  // namespace linac::physics
