#include "linac/control/tune/samplers/improvement.h"

#include <cmath>
#include <numbers>

#include "linac/control/tune/normal.h"

namespace linac::tune {

// EI = deviation h(z), h(z) = density(z) + z distribution(z), z = (target - mean) / deviation. Its derivatives by mean
// and deviation are -distribution(z) and density(z).
Improvement log_improvement(double target, double mean, double deviation) {
  const double z = (target - mean) / deviation;
  const double log_density = -0.5 * z * z - 0.5 * std::log(2 * std::numbers::pi);
  double log_h = 0;
  if (z > -1) {
    log_h = std::log(normal_density(z) + z * normal_distribution(z));
  } else if (z > -10) {
    // density(z) (1 - |z| r), r = distribution(z) / density(z): Mills' ratio
    const double ratio = std::exp(log_normal_distribution(z) - log_density);
    log_h = log_density + std::log1p(z * ratio);
  } else {
    // 1 - |z| r by the asymptotic series of r (Abramowitz and Stegun 26.2.12)
    const double v = 1 / (z * z);
    log_h =
        log_density + std::log(v * (1 - 3 * v * (1 - 5 * v * (1 - 7 * v * (1 - 9 * v * (1 - 11 * v * (1 - 13 * v)))))));
  }
  return {std::log(deviation) + log_h, -std::exp(log_normal_distribution(z) - log_h) / deviation,
          std::exp(log_density - log_h) / deviation};
}

}  // namespace linac::tune
