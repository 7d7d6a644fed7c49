#pragma once
// The parts of the 3DGAN's loss, by name and weight ("Accelerating GAN training ...", EPJ Web Conf. 251 (2021) 02073).

#include <array>
#include <cstddef>

namespace linac::models::threedgan {

/// Order of the parts everywhere. "total" is their weighted sum.
enum LossPart : size_t { kGeneration, kAuxiliary, kAngle, kEcal, kTotal, kLossParts };
inline constexpr std::array<const char*, kLossParts> kLossNames{"generation", "auxiliary", "angle", "ecal", "total"};
inline constexpr std::array<double, 4> kLossWeights{3.0, 0.1, 25.0, 0.1};

}  // namespace linac::models::threedgan
