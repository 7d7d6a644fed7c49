#pragma once
// The parts of the 3DGAN's loss by name ("Accelerating GAN training ...", EPJ Web Conf. 251 (2021) 02073).

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "linac/base/job/model_kinds.h"

namespace linac::models::threedgan {

/// Order of the parts everywhere. "total" is their sum by the weights of the job (job::GanLossWeights).
enum LossPart : size_t { kGeneration, kAuxiliary, kAngle, kEcal, kTotal, kLossParts };
inline constexpr std::array<const char*, kLossParts> kLossNames{"generation", "auxiliary", "angle", "ecal", "total"};

/// What a generator update measures, in the order of its contribution: kLossNames, then "profiles", "spectrum" and
/// "observables", those that the job weighs. They are part of the total.
std::vector<std::string> generator_losses(const job::GanLossWeights& weights);

}  // namespace linac::models::threedgan
