#include "linac/base/plan/estimate.h"

#include <algorithm>
#include <boost/math/special_functions/erf.hpp>
#include <cmath>
#include <numbers>

namespace linac::plan {

Interval Estimate::interval() const {
  const double factor = std::exp(kFourOfFive * spread);
  return {middle / factor, middle, middle * factor};
}

Estimate Estimate::of(const Interval& interval) {
  return {interval.middle, std::log(interval.high / interval.low) / (2 * kFourOfFive)};
}

double Estimate::no_more_than(double limit) const {
  if (middle <= limit && (spread == 0 || middle == 0)) return 1;
  if (spread == 0 || limit <= 0) return 0;
  return 0.5 * std::erfc(-std::log(limit / middle) / (spread * std::sqrt(2.0)));
}

double Estimate::quantile(double likelihood) const {
  return middle * std::exp(-std::numbers::sqrt2 * spread * boost::math::erfc_inv(2 * likelihood));
}

Estimate operator*(Estimate estimate, double factor) {
  return {estimate.middle * factor, estimate.spread};
}

double joined(double spread, double other) {
  return std::hypot(spread, other);
}

Estimate product(Estimate a, Estimate b) {
  return {a.middle * b.middle, joined(a.spread, b.spread)};
}

Estimate sum(std::span<const Estimate> parts) {
  double middle = 0, squares = 0;
  for (const Estimate& part : parts) {
    middle += part.middle;
    squares += std::pow(part.middle * part.spread, 2);
  }
  return {middle, middle > 0 ? std::sqrt(squares) / middle : 0};
}

double expected_maximum(int count) {
  // The mean is the integral of 1 - F over positive x, less that of F over negative ones, with F = Phi^count.
  constexpr double kEnd = 9, kStep = 1.0 / 256;
  if (count <= 1) return 0;
  double sum = 0;
  for (double x = kStep / 2; x < kEnd; x += kStep) {
    const double above = std::erfc(x / M_SQRT2) / 2;
    sum += -std::expm1(count * std::log1p(-above)) - std::pow(above, count);
  }
  return sum * kStep;
}

}  // namespace linac::plan
