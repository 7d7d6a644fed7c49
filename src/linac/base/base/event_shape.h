#pragma once
// The size of a shower's image.

#include <cstdint>

namespace linac {

/// Cells along x, y and depth z (the layer). Images are [x][y][z].
struct EventShape {
  int64_t x = 0, y = 0, z = 0;
  int64_t cells() const { return x * y * z; }
  bool operator==(const EventShape&) const = default;
};

}  // namespace linac
