#include "linac/base/base/binomial.h"

#include <algorithm>
#include <cmath>

namespace linac {

Range share_interval(double share, double events) {
  if (!(events > 0)) return {0, 1};
  const double p = std::clamp(share, 0.0, 1.0), middle = (p + 1 / (2 * events)) / (1 + 1 / events);
  const double half = std::sqrt(p * (1 - p) / events + 1 / (4 * events * events)) / (1 + 1 / events);
  return {std::clamp(middle - half, 0.0, p), std::clamp(middle + half, p, 1.0)};
}

}  // namespace linac
