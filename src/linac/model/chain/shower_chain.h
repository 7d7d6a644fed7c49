#pragma once
// Showers made cell by cell, each layer after the one in front, by small networks that were trained on the likelihood
// of Monte Carlo showers: first the layer's energy, then in eight passes from the halo to the core which cells are hit
// and with how much. docs/guide/physics/cell_chain.md has the model.
//
// A shower is a pure function of (parts, energy, angle, key). ShowerChain is immutable and thread-safe; each thread
// brings its own Workspace.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/event_shape.h"
#include "linac/base/base/rng.h"
#include "linac/model/chain/dense.h"
#include "linac/model/chain/halo.h"
#include "linac/model/chain/layer_energy.h"
#include "linac/model/chain/layer_walk.h"

namespace linac::chain {

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

struct ChainParts : Surroundings {
  HaloBounds halo;
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
  /// shower's barycentre becomes the middle one, (nx / 2, ny / 2); what falls outside is lost. Returns where the
  /// primary entered, in the cells of the image.
  Axis draw(double energy_gev, double theta, const RngKey& key, std::vector<CellEnergy>& cells,
            Workspace& workspace) const;
  /// The same shower as an image [x][y][layer] in GeV.
  Axis make(double energy_gev, double theta, const RngKey& key, std::span<float> image, Workspace& workspace) const;

 private:
  struct Place {
    int64_t x, y;
  };
  Place barycentre(const Workspace& workspace, bool mirrored) const;

  ChainParts parts_;
};

/// For networks without bounds: the largest chances of hits in showers of theirs of which all cells are looked at, and
/// half as much again. Takes some tenths of a second. `seed`: of those showers.
HaloBounds measured_bounds(const ChainParts& parts, uint64_t seed = 0);

class ShowerChain::Workspace {
 public:
  explicit Workspace(const ShowerChain& chain);

 private:
  friend class ShowerChain;
  friend class LayerDrawing;
  friend HaloBounds measured_bounds(const ChainParts& parts, uint64_t seed);
  LayerWalk walk_;
  std::vector<std::vector<DrawnHit>> hits_of_;  // of each layer
  std::vector<ChosenCell> cells_;
  std::vector<float> features_, first_, second_, third_, chances_, classes_, bias_;
  std::vector<size_t> hit_;
  std::vector<CellEnergy> shower_;
  std::vector<float>* chances_seen_ = nullptr;  // the largest of the halo's cells, by HaloBounds::at()
};

}  // namespace linac::chain
