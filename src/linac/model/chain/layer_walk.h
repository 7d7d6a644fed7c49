#pragma once
// The way through a shower, layer by layer and pass by pass, that drawing one and learning from one have in common:
// what lies around the cells of a pass, and what is known when their turn comes. Who walks says the energy of each
// layer and puts the hits of each pass. One shower at a time, one thread at a time.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "linac/model/chain/features.h"
#include "linac/model/chain/layer_energy.h"
#include "linac/model/chain/layer_maps.h"
#include "linac/model/chain/passes.h"

namespace linac::chain {

/// The detector as the model sees it; lengths in cells.
struct Detector {
  PlaneShape cells;
  std::vector<float> sensor_depth;  // of each layer, from the front face
  float middle_depth = 0;           // about where showers have their barycentre
};

/// All of the model but its networks.
struct Surroundings {
  Detector detector;
  Units units;
  Rings rings;
  float memory = 0.7F;
  float halo_cells = 6;  // from the axis: nearer empty cells of the halo are taken more often in training
  RadialTable mean_by_radius;
};

struct CellPlace {
  int16_t i, j;
};

struct DrawnHit {
  int16_t i, j;
  int8_t pass;
  float energy_gev;
};

/// Of a layer; energies count where they are.
LayerSummary summary_of(std::span<const DrawnHit> hits, const Axis& axis);

class LayerWalk {
 public:
  explicit LayerWalk(const Surroundings& around);

  /// `around`: of the same detector as the one given first; it is borrowed until the next shower.
  void begin_shower(const Surroundings& around, float energy_gev, float cotangent, const Axis& entry);

  /// What is known of the layers in front.
  LayerHistory history() const { return {state_.primary_gev, state_.cotangent, summaries_}; }
  /// The next layer has so much energy. Without any it has no passes.
  void begin_layer(float energy_gev);
  /// Of a layer with energy, in their order.
  void begin_pass(int pass);
  /// The network's input that the cells of the pass share, shared_features() floats.
  std::span<const float> shared() const { return shared_; }
  /// out [kCellFeatures], of a cell of the pass.
  void features(int64_t i, int64_t j, float* out) const;
  /// A hit of the pass, when all of it that is wanted of its other cells is known.
  void put(int64_t i, int64_t j, float energy_gev);
  /// A hit's energy is another one in the end.
  void replace(int64_t i, int64_t j, float energy_gev);
  /// The layer's hits as they are now.
  void end_layer(std::span<const DrawnHit> hits);

  const Axis& axis() const { return axis_; }  // in this layer
  const PassState& state() const { return state_; }
  /// Cells of a pass of the ring or the core.
  const std::vector<CellPlace>& cells(int pass) const { return cells_[static_cast<size_t>(pass)]; }
  int pass_at(size_t at) const { return passes_[at]; }
  /// Whether energy lies in front, the memory of it is more than faint, or a hit lies beside.
  bool lively(size_t at) const;

  /// What is expected of the cells of the pass, in units. Borrowed.
  struct Outlook {
    PlaneShape shape;
    std::array<const float*, kGuesses> guesses, largest;  // of a cell, by PlaneShape::at(); of a piece
    std::array<float, kGuesses> weights;
    const int8_t* beside;  // hits of this layer beside a cell, by PlaneShape::at(); room for kPieceCells more

    float expected(size_t at) const { return weighed(guesses, at); }
    /// Of no cell of the piece that begins at (i, begin) more.
    float most_expected(int64_t i, int64_t begin) const {
      return weighed(largest, static_cast<size_t>(i * shape.pieces() + begin / kPieceCells));
    }

   private:
    float weighed(const std::array<const float*, kGuesses>& of, size_t at) const {
      return weights[0] * of[0][at] + weights[1] * of[1][at] + weights[2] * of[2][at];
    }
  };
  Outlook outlook() const;

 private:
  void clear_layer();
  void begin_passes();
  void mark(int64_t i, int64_t j);

  const Surroundings* around_;
  LayerMaps maps_;
  std::vector<LayerSummary> summaries_;
  Plane plane_, last_plane_;  // this layer, the one in front
  Plane last_log_, drawn_log_;
  std::vector<size_t> filled_, last_filled_;           // cells of those two that are not 0
  std::vector<int8_t> passes_, beside_;                // of each cell, the border's too
  std::vector<size_t> marked_;                         // cells whose pass is not that of the halo's colours
  std::array<std::vector<CellPlace>, kPasses> cells_;  // by pass
  std::vector<float> shared_;
  Axis entry_, axis_{};
  PassState state_;
  std::array<std::array<float, kGuesses>, kPasses> guessed_{};  // by pass
};

}  // namespace linac::chain
