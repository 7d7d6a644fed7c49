#include "linac/physics/report/page/numbers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/physics/plot/axis.h"

namespace linac::report {
namespace {

constexpr double kRounding = 1e-6;  // a smaller relative uncertainty is none
constexpr double kManyTimes = 1e4;  // from here on a ratio is a power of ten
constexpr const char* kNotANumber = "not a number";

int exponent_of(double value) {
  return static_cast<int>(std::floor(std::log10(value)));
}

// Whether people would rather read it as a power of ten.
bool unwieldy(int exponent) {
  return exponent < -4 || exponent > 5;
}

}  // namespace

std::string short_number(double value) {
  if (std::isnan(value)) return kNotANumber;
  if (std::isinf(value)) return value > 0 ? "∞" : "-∞";
  if (value == 0) return "0";
  // Of the rounded value: 0.9999 is 1.00.
  const std::string scientific = fmt::format("{:.2e}", value);
  const size_t split = scientific.find('e');
  const int exponent = std::stoi(scientific.substr(split + 1));
  if (!unwieldy(exponent)) return fmt::format("{:.{}f}", value, std::max(0, 2 - exponent));
  return fmt::format("{}×{}", scientific.substr(0, split), plot::power_of_ten(exponent));
}

std::string with_uncertainty(double value, double uncertainty) {
  if (!std::isfinite(value) || !std::isfinite(uncertainty) || !(uncertainty > kRounding * std::abs(value)))
    return short_number(value);
  const int exponent = exponent_of(std::max(std::abs(value), uncertainty));
  const double unit = unwieldy(exponent) ? std::pow(10, exponent) : 1;
  // A small uncertainty does not ask for more than six digits of the value.
  const int shown =
      std::max(exponent_of(uncertainty / unit) - 1, exponent_of(std::max(std::abs(value), uncertainty) / unit) - 5);
  const int decimals = std::max(0, -shown);
  const std::string both = fmt::format("{:.{}f} ± {:.{}f}", value / unit, decimals, uncertainty / unit, decimals);
  return unit == 1 ? both : fmt::format("({})×{}", both, plot::power_of_ten(exponent));
}

std::string percent(double fraction) {
  if (!std::isfinite(fraction)) return "–";
  return fmt::format("{:.{}f} %", 100 * fraction,
                     fraction >= 0.0995 || fraction == 0 ? 0
                     : fraction >= 0.00095               ? 1
                                                         : 2);
}

std::string times(double ratio) {
  if (!std::isfinite(ratio)) return short_number(ratio);
  if (ratio < kManyTimes) return fmt::format("{:.{}f}", ratio, ratio < 1 ? 2 : ratio < 10 ? 1 : 0);
  const int exponent = exponent_of(ratio);
  return fmt::format("{:.1f}×{}", ratio / std::pow(10, exponent), plot::power_of_ten(exponent));
}

std::string share_of_limit(double ratio) {
  if (ratio > 0.9 && ratio <= 1) return fmt::format("{:.2f}", std::floor(ratio * 100) / 100);
  if (ratio > 1 && ratio < 1.1) return fmt::format("{:.2f}", std::ceil(ratio * 100) / 100);
  return times(ratio);
}

}  // namespace linac::report
