#pragma once
// Fast simulation of electron showers in a sampling calorimeter after Grindhammer and Peters, hep-ex/0001020: a Gamma
// profile along depth whose maximum and shape fluctuate from shower to shower, a core and a tail across, both as energy
// spots, and sampling fluctuations. docs/guide/physics/simulation.md has formulas, tuning and what is left out.
//
// A shower is a pure function of (geometry, tuning, energy, angle, key): whichever thread computes it, in whatever
// order. ShowerSimulation is immutable and thread-safe; each thread brings its own Workspace.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/physics/physics/energy_spots.h"
#include "linac/physics/physics/geometry.h"
#include "linac/physics/physics/number_sequence.h"
#include "linac/physics/physics/sampling_stack.h"
#include "linac/physics/physics/shower_profile.h"

namespace linac::physics {

/// Cells below are 0, as in the Geant4 showers.
constexpr double kCellThreshold_gev = 1e-6;
/// Energies and angles that simulate() takes. Below about 1 GeV the paper's fits are extrapolated.
constexpr double kShowerEnergyMin_gev = 0.1, kShowerEnergyMax_gev = 1e5;
constexpr double kShowerSineMin = 0.2;  // of theta: not much below 12 degrees to the layers

/// The numbers of shower `event` of a production.
RngKey shower_key(uint64_t seed, uint64_t event);

/// User error naming `where` unless energy and angle are within the limits above.
void check_primary(double energy_gev, double theta, const std::string& where);

/// Where an electron entered the front face: mm from the centre of the cell that it entered, and by how many cells that
/// cell lies before the middle one of the image.
struct Entry {
  double x_mm, y_mm;
  int64_t shift_x, shift_y;
};

class ShowerSimulation {
 public:
  /// The spots of one layer: numbers [first, first + count) of the workspace.
  struct LayerSpots {
    double visible_gev;
    size_t first, count;
    double unit_gev;  // energy of a spot of relative energy 1
  };
  /// Room for one shower, kept from call to call. One thread at a time.
  struct Workspace {
    std::vector<LayerSpots> layers;
    std::vector<uint32_t> bits;
    std::vector<int32_t> cell_x, cell_y;
  };

  /// User error when the geometry cannot be built.
  explicit ShowerSimulation(const Geometry& geometry, const Tuning& tuning = {});

  const Geometry& geometry() const { return geometry_; }

  /// Fills image [x][y][layer] with GeV visible in the sensors. The electron enters the front face at a point uniform
  /// over a cell and flies along (0, cos theta, sin theta) in (x, y, depth). The image is shifted so that the cell of
  /// the shower's energy-weighted barycentre becomes the middle one, (nx / 2, ny / 2); what falls outside is lost.
  Entry simulate(double energy_gev, double theta, const RngKey& key, std::span<float> image,
                 Workspace& workspace) const;

 private:
  struct Layer {
    SampledLayer sampled;
    std::array<double, 3> depth_x0, ln_depth;  // where the profile along depth is taken
  };
  struct Shower;  // one shower's shape

  Shower draw_shower(double energy_gev, double theta, NumberSequence& numbers) const;
  void share_energy(const Shower& shower, NumberSequence& numbers, Workspace& workspace) const;
  void place_spots_of(const Shower& shower, Workspace& workspace) const;
  struct Cell {
    int64_t x, y;
  };
  Cell barycentre(const Workspace& workspace) const;
  void fill_image(const Workspace& workspace, const Cell& middle, std::span<float> image) const;

  Geometry geometry_;
  Tuning tuning_;
  EffectiveMedium medium_;
  SpotEnergies spot_energies_;
  std::vector<Layer> layers_;
};

}  // namespace linac::physics
