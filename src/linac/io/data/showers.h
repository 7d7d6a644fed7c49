#pragma once
// Showers in memory: as their file stores them (ShowerBlock) and as the networks take them (SampleBatch), and the way
// from one to the other and back. Values; the functions are pure and thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/base/event_shape.h"

namespace linac::data {

using linac::EventShape;

/// No image has more cells than this; sizes found in files are refused above it.
constexpr int64_t kCellsMax = int64_t{1} << 28;

/// Whether an image may be of this shape.
bool is_plausible(const EventShape& shape);

std::string to_string(const EventShape& shape);  // "51x51x25"

/// HDF5 data sets that hold the showers.
struct Fields {
  std::string image = "ECAL", energy = "energy", angle = "theta";
  std::vector<std::string> numbers{};  // further ones, of one number an event
};

/// How stored showers become training samples. image = GeV * scale; cells below threshold become 0; events whose cells
/// sum to min_sum or less are dropped; ecal is that sum; then cell^power. Y = energy / energy_unit_gev.
struct Preprocessing {
  double scale = 50;
  double threshold = 1e-4;
  double min_sum = 1;
  double power = 0.85;
  double energy_unit_gev = 100;
};

/// What the numbers of a ShowerBlock mean.
enum class Units {
  kRaw,      // image and ecal in GeV, energy in GeV
  kSamples,  // image scaled and raised to the power, ecal scaled, energy in units of energy_unit_gev
};

/// Consecutive showers of one file. ecal of a kRaw block is empty: it follows from the image.
struct ShowerBlock {
  Units units = Units::kRaw;
  EventShape shape;
  std::vector<float> image;  // [events][x][y][z]
  std::vector<float> energy, angle, ecal;
  std::vector<float> numbers{};  // [events][Fields::numbers]

  int64_t events() const { return static_cast<int64_t>(energy.size()); }
  /// Room for `events`; what was there is lost.
  void resize(int64_t events, const EventShape& shape, Units units);
};

/// Samples for the networks; all of kSamples' units. angle in rad.
struct SampleBatch {
  int64_t events = 0;
  EventShape shape;
  std::vector<float> image;  // [events][x][y][z]
  std::vector<float> energy, angle, ecal;
  std::vector<float> numbers{};  // [events][Fields::numbers]

  void resize(int64_t events, const EventShape& shape, size_t numbers = 0);
};

/// Raw cells to sample cells in place; returns ecal, the sum of the scaled cells before the power.
double to_sample(const Preprocessing& preprocessing, float* image, int64_t cells);
/// Sum of the cells of a raw image after scale and threshold: what min_sum is compared with.
double scaled_sum(const Preprocessing& preprocessing, const float* image, int64_t cells);
/// Sum over cells of image^(1/power): ecal as it follows from a sample's image.
double sum_before_power(const Preprocessing& preprocessing, const float* image, int64_t cells);
/// Turns a block of samples into a raw one (cells below the threshold stay 0) or the other way.
void convert_units(const Preprocessing& preprocessing, ShowerBlock& block, Units units);

}  // namespace linac::data
