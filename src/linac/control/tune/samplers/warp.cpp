#include "linac/control/tune/samplers/warp.h"

#include <algorithm>
#include <cmath>

namespace linac::tune {
namespace {

// Powers that are tried, in tenths: below -1 the best loss alone would be seen, above 1 the worst ones.
constexpr int kLeast = -10, kMost = 10;

double power(double y, double lambda) {
  if (y >= 0) return std::abs(lambda) < 1e-9 ? std::log1p(y) : (std::pow(1 + y, lambda) - 1) / lambda;
  const double other = 2 - lambda;
  return std::abs(other) < 1e-9 ? -std::log1p(-y) : -(std::pow(1 - y, other) - 1) / other;
}

Eigen::VectorXd standardised(const Eigen::VectorXd& y) {
  const double mean = y.mean();
  const double deviation = std::sqrt((y.array() - mean).square().mean());
  return (y.array() - mean) / (deviation > 0 ? deviation : 1.0);
}

// The logarithm of the likelihood of a normal sample that was bent.
double likelihood(const Eigen::VectorXd& y, double lambda) {
  Eigen::VectorXd bent(y.size());
  double slopes = 0;
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    bent(i) = power(y(i), lambda);
    slopes += std::copysign(std::log1p(std::abs(y(i))), y(i));
  }
  const double variance = (bent.array() - bent.mean()).square().mean();
  return -0.5 * static_cast<double>(y.size()) * std::log(variance) + (lambda - 1) * slopes;
}

}  // namespace

Eigen::VectorXd warped(const Eigen::VectorXd& losses) {
  // A sum of squares of numbers near the largest ones would be infinite.
  const double largest = std::max(losses.cwiseAbs().maxCoeff(), 1e-300);
  const Eigen::VectorXd y = standardised(losses / largest);
  if (y.isZero(0)) return y;
  double best = 1, best_value = likelihood(y, 1);
  for (int tenths = kLeast; tenths <= kMost; ++tenths) {
    const double lambda = 0.1 * tenths;
    const double value = likelihood(y, lambda);
    if (value > best_value) best = lambda, best_value = value;
  }
  Eigen::VectorXd bent(y.size());
  for (Eigen::Index i = 0; i < y.size(); ++i) bent(i) = power(y(i), best);
  return standardised(bent);
}

}  // namespace linac::tune
