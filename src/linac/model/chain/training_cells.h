#pragma once
// What the networks learn from a Monte Carlo shower: the walk of LayerDrawing with the shower's own hits in place of
// drawn ones, and on the way the features, the outcome and the weight of cells, and those of the layers. Most cells are
// empty and far from all: of the empty ones a part is taken, and each counts as many times as it stands for. One thread
// at a time.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/chain/layer_walk.h"

namespace linac::chain {

/// A shower in its image [x][y][layer], GeV; `entry` is where the primary enters the front face, in the image's cells.
struct MonteCarloShower {
  float energy_gev = 0, theta = 0;
  Axis entry;
  std::span<const float> image;
};

constexpr int32_t kNoHit = -1;

/// Rows of any number of showers.
struct TrainingRows {
  // Of a cell: kCellFeatures and what its pass shares; its class of energy, or kNoHit; how many it stands for.
  std::vector<float> features;
  std::vector<int32_t> classes;
  std::vector<float> weights;
  // Of a layer: the network's input; what its means count from; its energy in widths (0 where it is empty); 1 if empty.
  std::vector<float> layer_inputs, layer_from, layer_widths, layer_empty;

  size_t cells() const { return classes.size(); }
  size_t layers() const { return layer_from.size(); }
};

/// The class of an energy: between edges [k] and [k + 1], log2 of GeV; beyond the outermost the next one.
int32_t class_of(std::span<const float> edges, float energy_gev);

class TrainingCells {
 public:
  /// Borrows both.
  TrainingCells(const Surroundings& around, const LayerScale& scale, std::span<const float> edges);

  int64_t features() const { return kCellFeatures + shared_features(layers_); }

  /// Which empty cells are taken follows from `key` alone: its lane is the first of lanes_per_shower() that are used.
  /// `mirror`: of the image in x, as which the shower is as likely.
  void add(const MonteCarloShower& shower, const RngKey& key, bool mirror, TrainingRows& rows);
  int64_t lanes_per_shower() const { return layers_; }

  /// The hits of each layer, as the networks see the shower: theta <= 90 degrees. Filled by add() and by look().
  const std::vector<std::vector<DrawnHit>>& hits() const { return hits_; }
  void look(const MonteCarloShower& shower, bool mirror);
  const Axis& entry() const { return entry_; }
  float cotangent() const { return cotangent_; }

 private:
  void add_layer(size_t z, TrainingRows& rows);
  void add_cell(int64_t i, int64_t j, float weight, int32_t outcome, TrainingRows& rows) const;

  const Surroundings& around_;
  const LayerScale& scale_;
  const std::span<const float> edges_;
  const int64_t layers_;
  LayerWalk walk_;
  std::vector<std::vector<DrawnHit>> hits_;  // of each layer; their passes are not known before the walk
  Plane truth_;                              // of a layer
  std::vector<float> chances_;               // of each cell, one number for the layer
  Axis entry_;
  float cotangent_ = 0;
};

}  // namespace linac::chain
