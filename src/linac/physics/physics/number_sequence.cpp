#include "linac/physics/physics/number_sequence.h"

#include <cmath>
#include <numbers>

#include "linac/base/base/error.h"

namespace linac::physics {

double NumberSequence::uniform() {
  if (next_ == block_.size()) {
    fill_bits(key_, position_, block_);
    position_ += block_.size();
    next_ = 0;
  }
  return (static_cast<double>(block_[next_++]) + 0.5) * 0x1p-32;
}

double NumberSequence::normal() {
  const double radius = std::sqrt(-2 * std::log(uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double NumberSequence::gamma(double shape) {
  LINAC_CHECK(shape > 0);
  if (shape < 1) {
    const double larger = gamma(shape + 1);
    return larger * std::pow(uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = normal(), root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root, u = uniform();
    if (u < 1 - 0.0331 * x * x * x * x) return d * v;
    if (std::log(u) < 0.5 * x * x + d * (1 - v + std::log(v))) return d * v;
  }
}

}  // namespace linac::physics
