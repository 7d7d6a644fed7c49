#include "linac/base/base/value_range.h"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

namespace linac {
namespace {

constexpr double kRounding = 1e-5;  // of probabilities that float32 normalised

}  // namespace

bool ValueRange::has(float value) const {
  return value >= min - kRounding && value <= max + kRounding && (!whole || std::floor(value) == value);
}

std::string ValueRange::describe() const {
  const std::string_view numbers = whole ? "whole numbers" : "numbers";
  return std::isinf(max) ? fmt::format("{} from {} on", numbers, min)
                         : fmt::format("{} from {} to {}", numbers, min, max);
}

}  // namespace linac
