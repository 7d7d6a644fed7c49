#include <algorithm>
#include <cmath>

#include "linac/control/tune/populations/populations.h"

namespace linac::tune {
namespace {

constexpr uint32_t kUse = 20;
constexpr double kLess = 0.8, kMore = 1.2;  // as the paper has them
constexpr double kShift = 0.1;              // of the range: a factor would leave a value of 0 where it is

double moved(const Parameter& parameter, double value, bool up) {
  if (parameter.categorical()) return parameter.unit_of(value);
  const double wanted =
      parameter.log ? value * (up ? kMore : kLess) : value + (up ? kShift : -kShift) * (parameter.high - parameter.low);
  const double unit = parameter.unit_of(std::clamp(wanted, parameter.low, parameter.high));
  if (!parameter.discrete() || parameter.value_of(unit) != value) return unit;
  return parameter.unit_of(std::clamp(value + (up ? parameter.step : -parameter.step), parameter.low, parameter.high));
}

}  // namespace

Point explore_pbt(const Exploring& now) {
  const Space& space = now.history.space();
  Draws draws(now.ask, kUse);
  std::vector<double> unit = now.parent.unit;
  for (size_t i = 0; i < unit.size(); ++i) {
    const bool anew = draws.uniform() < now.settings.resample;
    const double drawn = draws.uniform();
    if (anew)
      unit[i] = drawn;
    else if (!std::isnan(now.parent.point[i]))
      unit[i] = moved(space[i], now.parent.point[i], drawn < 0.5);
  }
  return space.point_of(unit);
}

}  // namespace linac::tune
