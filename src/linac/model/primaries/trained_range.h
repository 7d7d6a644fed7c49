#pragma once
// The primaries that a generator was trained on. A network says something of any energy and angle; beyond those that
// it has seen nobody has looked. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>

#include "linac/base/base/range.h"

namespace linac::primaries {

struct TrainedRange {
  Range energy_gev, theta_rad;
};

/// Under "trained_on" in the notes of a checkpoint or of an exported model: {"energy_gev": [low, high], "theta_rad":
/// [low, high]}.
void add_range(const std::optional<TrainedRange>& range, nlohmann::json& notes);
/// Nothing where the notes say nothing, as those of models of others. Data error naming `where` for what is no range.
std::optional<TrainedRange> range_in(const nlohmann::json& notes, const std::string& where);

/// "10-100 GeV, 1.047-2.094 rad".
std::string to_string(const TrainedRange& range);

/// What of these primaries lies outside: "40 of 40 energies (200-400 GeV), 3 of 40 angles (2.2-2.5 rad)"; empty if
/// nothing does. The range comes from as many showers as there were, so a fiftieth of it to either side is inside.
std::string beyond(const TrainedRange& range, std::span<const float> energy_gev, std::span<const float> theta);

}  // namespace linac::primaries
