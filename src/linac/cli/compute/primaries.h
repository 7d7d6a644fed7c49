#pragma once
// Energies and angles of the showers that a verb makes: drawn from ranges or taken from a file. One place for the
// options, so that `linac generate` and `linac simulate` take the same ones and draw the same primaries.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace linac::cli {

struct PrimaryOptions {
  std::string like, energy, theta;
  int64_t events = 0;
  uint64_t seed = 0;
};

struct Primaries {
  std::vector<float> energy_gev, theta;
  std::vector<std::string> files = {};  // that they were read from

  int64_t size() const { return static_cast<int64_t>(energy_gev.size()); }
};

/// --like, --energy, --theta, -n and --seed.
void add_primary_options(CLI::App& verb, PrimaryOptions& options);

/// User error "[verb] ..." when the options name no primaries; data errors of the --like file. The same options give
/// the same primaries.
Primaries primaries_of(const PrimaryOptions& options, const std::string& verb);

}  // namespace linac::cli
