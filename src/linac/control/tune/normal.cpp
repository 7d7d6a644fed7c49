#include "linac/control/tune/normal.h"

#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace linac::tune {

double normal_density(double x) {
  return std::exp(-0.5 * x * x) / std::sqrt(2 * std::numbers::pi);
}

double normal_distribution(double x) {
  return 0.5 * std::erfc(-x / std::numbers::sqrt2);
}

double log_normal_distribution(double x) {
  if (x > -10) return std::log(normal_distribution(x));
  // The asymptotic series of Mills' ratio (Abramowitz and Stegun 26.2.12); at -10 its error is below 1e-8.
  const double square = x * x, v = 1 / square;
  const double series = 1 - v * (1 - 3 * v * (1 - 5 * v * (1 - 7 * v * (1 - 9 * v * (1 - 11 * v)))));
  return -0.5 * square - std::log(-x) - 0.5 * std::log(2 * std::numbers::pi) + std::log(series);
}

double normal_quantile(double p) {
  return -std::numbers::sqrt2 * boost::math::erfc_inv(2 * p);
}

}  // namespace linac::tune
