#pragma once
// The logarithm of the expected improvement of a normal variable over a target, below which it is better (Ament et al.,
// "Unexpected improvements to expected improvement", NeurIPS 2023, section 4.1): exact where the improvement itself is
// 0 in double precision. Pure, thread-safe.

namespace linac::tune {

struct Improvement {
  double log_value;
  double by_mean, by_deviation;  // derivatives of it
};
Improvement log_improvement(double target, double mean, double deviation);

}  // namespace linac::tune
