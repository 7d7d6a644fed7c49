#include "linac/base/plan/estimate.h"

#include <algorithm>
#include <cmath>

namespace linac::plan {

Interval Estimate::interval() const {
  const double factor = std::exp(kFourOfFive * spread);
  return {middle / factor, middle, middle * factor};
}

double Estimate::no_more_than(double limit) const {
  if (middle <= limit && (spread == 0 || middle == 0)) return 1;
  if (spread == 0 || limit <= 0) return 0;
  return 0.5 * std::erfc(-std::log(limit / middle) / (spread * std::sqrt(2.0)));
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

}  // namespace linac::plan
