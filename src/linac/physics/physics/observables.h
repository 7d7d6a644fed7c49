#pragma once
// The numbers of one shower: what comparisons with Monte Carlo are made of. Energies are in GeV. Positions and widths
// are in cells and layers, the centre of cell i at i + 0.5, so they need no geometry; nothing here knows the image's
// size but from its arguments. All functions are pure and thread-safe; for an image without energy they return 0 (the
// angle: 100).

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "linac/base/base/event_shape.h"
#include "linac/physics/physics/projections.h"

namespace linac::physics {

struct Moments {
  double mean = 0, width = 0;  // energy-weighted mean and standard deviation, in cells
};
Moments moments(std::span<const double> profile);

/// The cell with the most energy; the first of equal ones.
int64_t maximum(std::span<const double> profile);

/// Energy fractions in the first, middle and last third of the profile's length; a layer on a border counts by parts.
std::array<double, 3> thirds(std::span<const double> profile);

/// Energy in rings of `width` cells about the barycentre of the map [x][y], out to its farthest corner. A cell's energy
/// is taken as spread over 3x3 points of it.
std::vector<double> radial_profile(std::span<const double> xy, int64_t x, int64_t y, double width);

/// Of Shower::radial, in cells.
constexpr double kRingWidth = 1;

/// The radius, in cells, that holds this fraction of a radial profile; linear within a ring.
double containment_radius(std::span<const double> radial, double width, double fraction);

/// Cells with more energy than the threshold. The sparsity is 1 - this / all cells.
int64_t cells_above(std::span<const float> image, double threshold_gev);

/// The spectrum of cell energies counts cells by factors of two: bin i holds [2^(i+kSpectrumFirst), twice that) GeV;
/// the first and the last also what lies beyond. Empty cells do not count.
constexpr int kSpectrumFirst = -20, kSpectrumBins = 24;  // 1e-6 to 16 GeV
void add_spectrum(std::span<const float> image, std::span<double> bins);

enum Observable : size_t {
  kTotal,
  kResponse,
  kDepthMean,
  kDepthWidth,
  kDepthMaximum,
  kFirstThird,
  kMiddleThird,
  kLastThird,
  kMeanX,
  kWidthX,
  kMeanY,
  kWidthY,
  kRadius50,
  kRadius90,
  kCells,
  kMaximumCell,
  kAngle,
  kObservables
};

struct ObservableInfo {
  const char* name;   // "depth.mean": in figures, gates, JSON
  const char* title;  // for people
  const char* unit;
};
const std::array<ObservableInfo, kObservables>& observable_table();

/// One shower, looked at.
struct Shower {
  double energy_gev = 0, theta = 0;  // of the primary; rad
  std::array<float, kObservables> values{};
  Projections maps;              // of this shower alone
  std::vector<double> radial;    // GeV in rings of one cell
  std::vector<double> spectrum;  // cells by energy
};

/// Looks at showers of one shape, reusing its memory: one thread at a time.
class Observer {
 public:
  /// `threshold_gev`: cells with more count as hit.
  Observer(const EventShape& shape, double threshold_gev);
  /// Valid until the next call. `image` is [x][y][z] in GeV.
  const Shower& observe(std::span<const float> image, double energy_gev, double theta);

 private:
  double threshold_gev_;
  Shower shower_;
};

}  // namespace linac::physics
