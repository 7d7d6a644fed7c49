#pragma once
// Bootstrap weights: replica r of a sample counts each event Poisson(1) times, which for many events is drawing as many
// with replacement. The weights follow from (seed, lane, event) alone, so two quantities of the same events are
// resampled alike and their difference keeps its correlation. Pure, thread-safe.

#include <cstdint>
#include <span>

namespace linac {

/// Uniform numbers in [0, 1) that belong to an event, from number `first` (a multiple of 4) on. `lane` differs between
/// samples of different events.
void fill_event_uniform(uint64_t seed, uint32_t lane, uint64_t event, std::span<float> out, uint64_t first = 0);

/// Poisson(1), by inversion of its distribution; at most 12.
uint8_t poisson_of_one(double uniform);

}  // namespace linac
