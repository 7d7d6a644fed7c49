#pragma once
// A Shower as a row of floats, so that workers can send each other what they have looked at. Pure, thread-safe.

#include <span>

#include "linac/physics/physics/observables.h"

namespace linac::physics {

/// Floats in a row.
size_t record_size(const EventShape& shape);

/// Energy, angle, observables, profiles and the map yz; the maps xy and xz stay behind.
void to_record(const Shower& shower, std::span<float> row);

/// What to_record() wrote; the maps xy and xz are zero.
Shower from_record(std::span<const float> row, const EventShape& shape);

}  // namespace linac::physics
