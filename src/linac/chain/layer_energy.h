#pragma once
// The energy of the next layer, given the primary and the layers in front: a mixture of normal distributions of its
// logarithm, whose numbers a network says, their means counted from the layer in front, and the probability that the
// layer is empty. Immutable, thread-safe.

#include <span>
#include <vector>

#include "linac/chain/dense.h"
#include "linac/chain/features.h"

namespace linac::chain {

/// Numbers of the network's input beside the mark of the layer and the energies of those in front.
constexpr int kLayerNumbers = 12;

inline int64_t layer_inputs(int64_t layers) {
  return 2 * layers + kLayerNumbers;
}

struct LayerHistory {
  float primary_gev = 0, cotangent = 0;
  std::span<const LayerSummary> layers;  // those in front, first to last
};

class LayerEnergy {
 public:
  LayerEnergy() = default;
  /// `out`: 1 + 3 * components outputs. The logarithms of layer z are (ln(E_z / primary) - mean[z]) / width[z].
  /// `empty`: the part of the training's layers that were empty; where none was, none is drawn.
  LayerEnergy(Dense in, Dense hidden, Dense out, std::vector<float> mean, std::vector<float> width,
              std::vector<float> empty, const Units& units);

  int64_t layers() const { return static_cast<int64_t>(mean_.size()); }

  /// GeV of layer `history.layers.size()`; 0 for an empty one. `uniform`: four numbers in (0, 1).
  float draw(const LayerHistory& history, std::span<const double> uniform) const;

  /// The network's input, layer_inputs() floats.
  void inputs(const LayerHistory& history, std::span<float> out) const;

 private:
  // (ln(energy / primary) - mean) / width of a layer.
  float widths_of(float energy_gev, float primary_gev, size_t layer) const;

  Dense in_, hidden_, out_;
  std::vector<float> mean_, width_, empty_;
  Units units_;
};

}  // namespace linac::chain
