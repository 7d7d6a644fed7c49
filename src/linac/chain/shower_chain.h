#pragma once
// Showers made cell by cell, each layer after the one in front, by small networks that were trained on the likelihood
// of Monte Carlo showers: first the layer's energy, then in eight passes from the halo to the core which cells are hit
// and with how much. docs/physics/cell_chain.md has the model.
//
// A shower is a pure function of (parts, energy, angle, key). ShowerChain is immutable and thread-safe; each thread
// brings its own Workspace.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/base/event_shape.h"
#include "linac/base/rng.h"
#include "linac/chain/dense.h"
#include "linac/chain/features.h"
#include "linac/chain/layer_energy.h"
#include "linac/chain/layer_maps.h"

namespace linac::chain {

/// The detector as the model sees it; lengths in cells.
struct Detector {
  PlaneShape cells;
  std::vector<float> sensor_depth;  // of each layer, from the front face
  float middle_depth = 0;           // about where showers have their barycentre
};

/// Far from the axis a cell without energy in front or beside is rarely hit. Only a part of those cells is looked at,
/// and the chance of each that is, is so much larger: as long as it is below 1, the showers are the same.
struct Halo {
  float begins = 6;  // cells from the axis
  struct Zone {
    float ends;  // cells from the axis; of the last: none
    float part;  // of the cells that are looked at
  };
  std::vector<Zone> zones;  // from inside out
};

/// The network of a cell: `cell` and `shared` add up to its first layer, whose ReLU goes through `hidden` to the
/// probability of a hit, and of a hit through `energy_hidden` to its class of energy.
struct CellNetwork {
  Dense cell, shared, hidden, hit, energy_hidden, energy;
  std::vector<float> edges;  // of the classes, log2 of GeV
};

struct CellEnergy {
  int32_t x, y, layer;
  float energy_gev;
};

struct ChainParts {
  Detector detector;
  Units units;
  Rings rings;
  Halo halo;
  float memory = 0.7F;
  RadialTable mean_by_radius;
  LayerEnergy layer_energy;
  CellNetwork network;
};

/// The numbers of shower `event`.
RngKey chain_key(uint64_t seed, uint64_t event);

class ShowerChain {
 public:
  /// Room for one shower, kept from call to call. One thread at a time.
  class Workspace;

  /// Data error naming `where` for parts that do not fit together.
  ShowerChain(ChainParts parts, const std::string& where);

  EventShape shape() const;

  /// The cells that are hit, replacing what is in `cells`: layer by layer, each cell once. The primary enters the front
  /// face at a point uniform over a cell and flies along (0, cos theta, sin theta) in (x, y, depth). The cell of the
  /// shower's barycentre becomes the middle one, (nx / 2, ny / 2); what falls outside is lost.
  void draw(double energy_gev, double theta, const RngKey& key, std::vector<CellEnergy>& cells,
            Workspace& workspace) const;
  /// The same shower as an image [x][y][layer] in GeV.
  void make(double energy_gev, double theta, const RngKey& key, std::span<float> image, Workspace& workspace) const;

 private:
  struct Place {
    int64_t x, y;
  };
  Place barycentre(const Workspace& workspace, bool mirrored) const;

  ChainParts parts_;
};

class ShowerChain::Workspace {
 public:
  explicit Workspace(const ShowerChain& chain);

 private:
  friend class ShowerChain;
  friend class LayerDrawing;
  struct Cell {
    int16_t i, j;
    float part;  // of such cells that are looked at
  };
  struct Hit {
    int16_t i, j;
    int8_t pass;
    float energy_gev;
  };

  LayerMaps maps_;
  std::vector<Plane> layers_;
  std::vector<std::vector<Hit>> hits_of_;  // of each layer
  std::vector<LayerSummary> summaries_;
  Plane last_log_, drawn_log_;
  std::vector<int8_t> passes_, lively_;          // of each cell, the border's too
  std::array<std::vector<Cell>, kPasses> near_;  // cells that are all looked at, by pass
  std::vector<Cell> cells_;
  std::vector<float> features_, first_, second_, third_, chances_, classes_, bias_, shared_;
  std::vector<size_t> hit_;
  std::vector<CellEnergy> shower_;
};

}  // namespace linac::chain
