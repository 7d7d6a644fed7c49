#pragma once
// The way through a shower, layer by layer and pass by pass, that drawing one and learning from one have in common:
// what lies around the cells of a pass, and what is known when their turn comes. Who walks says the energy of each
// layer and puts the hits of each pass. One shower at a time, one thread at a time.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "linac/chain/features.h"
#include "linac/chain/layer_energy.h"
#include "linac/chain/layer_maps.h"
#include "linac/chain/passes.h"

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

/// All of the model but its networks.
struct Surroundings {
  Detector detector;
  Units units;
  Rings rings;
  Halo halo;
  float memory = 0.7F;
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
  /// Cells of a pass that lie nearer to the axis than where the halo's zones begin.
  const std::vector<CellPlace>& near(int pass) const { return near_[static_cast<size_t>(pass)]; }
  /// By PlaneShape::at(): 1 where energy lies in front, where the memory of it is more than faint, or beside a hit.
  const std::vector<int8_t>& lively() const { return lively_; }
  int pass_at(size_t at) const { return passes_[at]; }

 private:
  void begin_passes();
  void mark(int64_t i, int64_t j);

  const Surroundings* around_;
  LayerMaps maps_;
  std::vector<LayerSummary> summaries_;
  Plane plane_, last_plane_;  // this layer, the one in front
  Plane last_log_, drawn_log_;
  std::vector<int8_t> passes_, lively_;               // of each cell, the border's too
  std::array<std::vector<CellPlace>, kPasses> near_;  // by pass
  std::vector<float> shared_;
  Axis entry_, axis_{};
  PassState state_;
  std::array<std::array<float, kGuesses>, kPasses> guessed_{};  // by pass
};

}  // namespace linac::chain
