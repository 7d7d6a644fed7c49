#pragma once
// Showers from a trained generator, chunk by chunk on several threads: what `linac generate` writes and `linac
// validate` judges without a file between. A chunk's noise follows from (seed, number of the chunk), so threads change
// nothing.

#include <filesystem>
#include <memory>
#include <vector>

#include "linac/train/validate/shower_source.h"

namespace linac::validate {

struct Primaries {
  std::vector<float> energy_gev, theta;
};

/// `model`: a run's folder, a checkpoint, a .keras or a .chain file. User error if it is none of them.
std::unique_ptr<const ShowerSource> generate(const std::filesystem::path& model, Primaries primaries, uint64_t seed,
                                             int threads);
/// At the energies and angles of another source, which is read for them.
std::unique_ptr<const ShowerSource> generate_like(const std::filesystem::path& model, const ShowerSource& like,
                                                  uint64_t seed, int threads);

}  // namespace linac::validate
