#pragma once
// The order in which the cells of a layer are drawn: from the halo, where single particles cross, to the core, which
// takes what energy remains. Cells of one pass are drawn side by side, so that none has a neighbour in the same pass in
// the core, and none beside an edge elsewhere. Pure, thread-safe.

#include <array>
#include <cmath>
#include <cstdint>

#include "linac/model/chain/plane.h"

namespace linac::chain {

/// Two of the halo, two of the ring, four of the core.
constexpr int kPasses = 8;
constexpr int kHaloPasses = 2, kRingPasses = 2;

/// Distances from the axis, in cells, where the core and the ring end.
struct Rings {
  float core = 1.6F, ring = 3.2F;
};

inline float distance_squared(int64_t i, int64_t j, const Axis& axis) {
  const float u = static_cast<float>(i) + 0.5F - axis.x, v = static_cast<float>(j) + 0.5F - axis.y;
  return u * u + v * v;
}

/// The pass of cell (i, j), `square` being its squared distance. The cell that the axis crosses is in the last.
inline int pass_of(int64_t i, int64_t j, float square, const Axis& axis, const Rings& rings) {
  const int colour = static_cast<int>((i + j) & 1);
  if (square > rings.ring * rings.ring) return colour;
  if (square > rings.core * rings.core) return kHaloPasses + colour;
  const auto odd_x = (i - static_cast<int64_t>(std::floor(axis.x))) & 1,
             odd_y = (j - static_cast<int64_t>(std::floor(axis.y))) & 1;
  constexpr std::array<int, 4> kByColour{7, 6, 5, 4};  // of (odd_x, odd_y): the axis' own colour last
  return kByColour[static_cast<size_t>(2 * odd_x + odd_y)];
}

}  // namespace linac::chain
