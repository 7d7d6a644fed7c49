#pragma once
// The energy of the next layer, given the primary and the layers in front: a mixture of normal distributions of its
// logarithm, whose numbers a network says, their means counted from the layer in front, and the probability that the
// layer is empty. Immutable, thread-safe.

#include <span>
#include <vector>

#include "linac/model/chain/dense.h"
#include "linac/model/chain/features.h"

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

/// In which the energies of the layers are counted: the logarithms of layer z are (ln(E_z / primary) - mean[z]) /
/// width[z].
struct LayerScale {
  std::vector<float> mean, width;
  Units units;

  float widths_of(float energy_gev, float primary_gev, size_t layer) const;
  /// The network's input, layer_inputs() floats.
  void inputs(const LayerHistory& history, std::span<float> out) const;
  /// What the means of the next layer count from: the layer in front, in widths.
  float from(const LayerHistory& history) const;
};

/// The network says means in this unit beside those, and logarithms of widths, which are cut to these.
constexpr float kMeanScale = 2, kWidthLnMin = -7, kWidthLnMax = 2;

class LayerEnergy {
 public:
  LayerEnergy() = default;
  /// `out`: 1 + 3 * components outputs. `empty`: the part of the training's layers that were empty; where none was,
  /// none is drawn. Data error for parts that do not fit together.
  LayerEnergy(Dense in, Dense hidden, Dense out, LayerScale scale, std::vector<float> empty);

  int64_t layers() const { return static_cast<int64_t>(scale_.mean.size()); }

  /// GeV of layer `history.layers.size()`; 0 for an empty one. `uniform`: four numbers in (0, 1).
  float draw(const LayerHistory& history, std::span<const double> uniform) const;

  const Dense& in() const { return in_; }
  const Dense& hidden() const { return hidden_; }
  const Dense& out() const { return out_; }
  const LayerScale& scale() const { return scale_; }
  const std::vector<float>& empty() const { return empty_; }

 private:
  Dense in_, hidden_, out_;
  LayerScale scale_;
  std::vector<float> empty_;
};

}  // namespace linac::chain
