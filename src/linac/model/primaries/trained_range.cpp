#include "linac/model/primaries/trained_range.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::primaries {
namespace {

constexpr const char* kKey = "trained_on";
constexpr double kMargin = 0.02;    // of the range's width
constexpr double kRounding = 1e-5;  // of its ends, which float made of what was asked for

// "40 of 40 energies (200-400 GeV)".
std::string outside(const Range& range, std::span<const float> values, const char* what, const char* unit) {
  const double margin = kMargin * (range.high - range.low) + kRounding * std::abs(range.high);
  size_t count = 0;
  Range found{};
  for (const float value : values) {
    if (value >= range.low - margin && value <= range.high + margin) continue;
    const auto wide = static_cast<double>(value);
    found = count++ == 0 ? Range{wide, wide} : Range{std::min(found.low, wide), std::max(found.high, wide)};
  }
  if (count == 0) return {};
  return fmt::format("{} of {} {} ({:.4g}-{:.4g} {})", count, values.size(), what, found.low, found.high, unit);
}

}  // namespace

void add_range(const std::optional<TrainedRange>& range, nlohmann::json& notes) {
  if (!range) return;
  const auto pair = [](const Range& one) { return nlohmann::json::array({one.low, one.high}); };
  notes[kKey] = {{"energy_gev", pair(range->energy_gev)}, {"theta_rad", pair(range->theta_rad)}};
}

std::optional<TrainedRange> range_in(const nlohmann::json& notes, const std::string& where) {
  if (!notes.contains(kKey)) return std::nullopt;
  try {
    const auto range = [&](const char* name) {
      const nlohmann::json& pair = notes.at(kKey).at(name);
      return Range{pair.at(0), pair.at(1)};
    };
    return TrainedRange{range("energy_gev"), range("theta_rad")};
  } catch (const nlohmann::json::exception& error) {
    throw data_error(
        fmt::format("[model] {}: '{}' is no range of energies and angles ({})", where, kKey, error.what()));
  }
}

std::string to_string(const TrainedRange& range) {
  return fmt::format("{:.4g}-{:.4g} GeV, {:.4g}-{:.4g} rad", range.energy_gev.low, range.energy_gev.high,
                     range.theta_rad.low, range.theta_rad.high);
}

std::string beyond(const TrainedRange& range, std::span<const float> energy_gev, std::span<const float> theta) {
  const std::string energies = outside(range.energy_gev, energy_gev, "energies", "GeV"),
                    angles = outside(range.theta_rad, theta, "angles", "rad");
  return energies + (energies.empty() || angles.empty() ? "" : ", ") + angles;
}

}  // namespace linac::primaries
