#pragma once
// What the network of cells sees: of a cell its place, the layers in front and what is drawn already around it; of the
// pass what all its cells share. Energies enter by their logarithm in a unit of the detector. Pure; a Neighbourhood is
// valid while its planes are.

#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "linac/model/chain/elementary.h"
#include "linac/model/chain/layer_maps.h"
#include "linac/model/chain/passes.h"

namespace linac::chain {

/// Numbers of a cell, and of a pass beside the marks of its layer and of the pass.
constexpr int kCellFeatures = 37, kSharedNumbers = 21;

inline int64_t shared_features(int64_t layers) {
  return layers + kPasses + kSharedNumbers;
}

/// Of a layer that is drawn.
struct LayerSummary {
  float energy_gev = 0, hits = 0;
  float x = 0, y = 0;  // barycentre from the axis, in cells
  float width = 0;     // root of the mean squared distance from the axis, of which no more than 10 cells count
};

/// Of the shower and of the layer as far as it is drawn.
struct PassState {
  int64_t layer = 0;
  int pass = 0;
  float primary_gev = 0, cotangent = 0, shift = 0;  // shift: along y from the layer in front
  float energy_gev = 0, before_gev = 0;             // of this layer; of all in front
  float remaining_gev = 0, hits = 0;
  std::array<float, kGuesses> guessed_gev{};  // what the guesses give to this pass and the later ones
  LayerSummary last, before_last;
};

/// In which energies are counted.
struct Units {
  float cell_gev = 0;     // of cells: about the smallest that matter
  float primary_gev = 0;  // of primaries: about the middle of their range
};

/// out [kSharedNumbers]
void shared_numbers(const PassState& state, const Units& units, std::span<float> out);

/// The planes around the cells of a pass.
struct Neighbourhood {
  const PlaneShape* shape;
  const LayerMaps* maps;
  const Plane *last_log, *drawn;  // of the layer in front logarithms, see logarithm_of(); this layer
  const Plane* drawn_log;
  const std::vector<int8_t>* passes;  // of each cell, the border's too
  Axis axis;
};

/// ln(1 + energy / unit) / 4
inline float logarithm_of(float units) {
  return 0.25F * fast_log(1 + units);
}

/// out [kCellFeatures] of cell (i, j).
void cell_features(const Neighbourhood& around, const PassState& state, const Units& units, int64_t i, int64_t j,
                   float* out);

}  // namespace linac::chain
