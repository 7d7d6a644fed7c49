#include "linac/base/base/bytes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace linac {
namespace {

constexpr std::string_view kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
constexpr double kStep = 1024;
constexpr double kBytesMax = 1LL << 60;

}  // namespace

std::string format_bytes(int64_t bytes) {
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= kStep && unit + 1 < std::size(kUnits); ++unit) value /= kStep;
  return fmt::format("{:.{}f} {}", value, unit > 0 && value < 10 ? 1 : 0, kUnits[unit]);
}

std::optional<int64_t> parse_bytes(std::string_view text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, value);
  if (read.ec != std::errc{} || !std::isfinite(value) || !(value > 0)) return std::nullopt;
  std::string_view unit(read.ptr, static_cast<size_t>(end - read.ptr));
  unit.remove_prefix(std::min(unit.find_first_not_of(' '), unit.size()));
  const auto* const known = unit.empty() ? std::begin(kUnits) : std::ranges::find(kUnits, unit);
  if (known == std::end(kUnits)) return std::nullopt;
  value *= std::pow(kStep, known - std::begin(kUnits));
  if (value < 1) return std::nullopt;
  return static_cast<int64_t>(std::min(value, kBytesMax));
}

}  // namespace linac
