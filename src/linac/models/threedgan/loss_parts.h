#pragma once
// The parts of the 3DGAN's loss by name ("Accelerating GAN training ...", EPJ Web Conf. 251 (2021) 02073).

#include <array>
#include <cstddef>

namespace linac::models::threedgan {

/// Order of the parts everywhere. "total" is their sum by the weights of the job (spec::GanLossWeights).
enum LossPart : size_t { kGeneration, kAuxiliary, kAngle, kEcal, kTotal, kLossParts };
inline constexpr std::array<const char*, kLossParts> kLossNames{"generation", "auxiliary", "angle", "ecal", "total"};

}  // namespace linac::models::threedgan
