#pragma once
// Which cells of the halo are looked at. A layer has thousands of them and some ten hits there, so most are passed
// over: a cell is looked at with a probability that is at least its chance of a hit, and its chance, if it is, is so
// much larger. The showers are the same, as long as that bound holds. It is read from a table, by what is expected of
// the cell's energy and by how many of the cells beside it are hit. Immutable values and pure functions, thread-safe.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "linac/model/chain/layer_walk.h"

namespace linac::physics {
class NumberSequence;
}

namespace linac::chain {

/// By kind of the cell: in the first pass, and in the second one with so many hits beside it; and by the expected
/// energy in the detector's units, in half octaves.
class HaloBounds {
 public:
  static constexpr int kKinds = 5, kBins = 40;
  static constexpr size_t kSize = kKinds * kBins;

  struct Bound {
    float chance;   // of a hit, at most
    float per_log;  // 1 / ln(1 - chance)
  };

  /// All cells are looked at.
  HaloBounds();
  /// `chances` [kKinds][kBins], from 1e-6 to 1. Along the bins none is below the one before, nor below that of a kind
  /// with fewer hits beside. Data error if they are not so.
  explicit HaloBounds(std::span<const float> chances);

  static int kind_of(int pass, int beside);
  static int bin_of(float expected);
  static size_t at(int kind, int bin) { return static_cast<size_t>(kind * kBins + bin); }

  const Bound& operator[](size_t at) const { return bounds_[at]; }
  std::vector<float> chances() const;

  /// Of a pass: without a hit beside, cells have a bound of at most this one, where less is expected than that.
  const Bound& quiet(int pass) const { return quiet_[static_cast<size_t>(pass)]; }
  float loud_from(int pass) const { return loud_from_[static_cast<size_t>(pass)]; }

 private:
  static float least_of_bin(int bin);

  std::array<Bound, kSize> bounds_;
  std::array<Bound, kHaloPasses> quiet_;
  std::array<float, kHaloPasses> loud_from_{};
};

/// A cell that is looked at.
struct ChosenCell {
  static constexpr size_t kNoBound = HaloBounds::kSize;  // of a cell of core or ring

  CellPlace at;
  float part = 1;           // of such cells that are looked at
  size_t bound = kNoBound;  // HaloBounds::at()
};

/// Adds those of a pass of the halo, which `walk` has begun.
void choose_in_halo(int pass, const LayerWalk& walk, const HaloBounds& bounds, physics::NumberSequence& numbers,
                    std::vector<ChosenCell>& cells);

}  // namespace linac::chain
