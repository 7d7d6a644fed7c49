#pragma once
// Simple numbers of a shower. Pure, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

namespace linac::physics {

/// Energy in each of the images [events][cells], in the images' unit, added in double precision.
std::vector<double> sums(std::span<const float> images, int64_t cells);

/// Part of the primary's energy that the image holds (the sampling fraction): sum / energy, each of both in GeV. 0
/// where the primary's energy is 0.
std::vector<double> responses(std::span<const float> images_gev, int64_t cells, std::span<const float> energies_gev);

}  // namespace linac::physics
