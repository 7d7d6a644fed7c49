#pragma once
// What the layers in front tell about the next one: their images carried along the flight path, and from them three
// guesses of each cell's mean energy. One shower's, one thread at a time.

#include <array>
#include <span>

#include "linac/model/chain/plane.h"

namespace linac::chain {

constexpr int kGuesses = 3;

/// Mean energy by distance from the axis, in steps of a quarter of a cell, of each layer of the training's showers.
struct RadialTable {
  static constexpr int kStepsPerCell = 4;
  int64_t steps = 0;
  std::vector<float> values;  // [layer][steps], any unit

  std::span<const float> layer(int64_t z) const {
    return std::span(values).subspan(static_cast<size_t>(z * steps), static_cast<size_t>(steps));
  }
};

/// Sums over the cells whose i + j is even, and over the others.
struct Colours {
  float even = 0, odd = 0;
};

class LayerMaps {
 public:
  /// `memory`: the part of a layer's image that is left of it one layer later.
  LayerMaps(const PlaneShape& shape, float memory);

  void begin_shower();
  /// `before`: the image of the layer in front, `shift` cells along y from here to there on the flight path, >= 0.
  void carry(const Plane& before, float shift);
  /// Guesses of energies that sum up to `energy_gev` each: the last layer slightly blurred, the memory blurred more,
  /// and the mean shower. One whose map is empty is 0.
  void guess(std::span<const float> mean_by_radius, const Axis& axis, float energy_gev);

  const Plane& last() const { return last_; }                // of the layer in front
  const Plane& before_last() const { return before_last_; }  // of the one in front of that
  const Plane& memory() const { return memory_; }
  /// With room for kPieceCells more.
  const Plane& guess(int which) const { return guesses_[static_cast<size_t>(which)]; }
  /// The largest of a piece of that guess, at least: [x][pieces()].
  const std::vector<float>& largest(int which) const { return largest_[static_cast<size_t>(which)]; }
  const Colours& colours(int which) const { return colours_[static_cast<size_t>(which)]; }  // of that guess

 private:
  PlaneShape shape_;
  float kept_;
  Plane last_, before_last_, memory_, scratch_;
  std::array<Plane, kGuesses> guesses_;
  std::array<std::vector<float>, kGuesses> largest_;
  std::array<Colours, kGuesses> colours_;
  std::array<std::vector<float>, 2> columns_;  // sums of the even rows, of the odd ones
};

}  // namespace linac::chain
