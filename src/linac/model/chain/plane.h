#pragma once
// A layer's cells with a border of empty ones, so that a cell's neighbours need no test. Plain values.

#include <cstdint>
#include <vector>

namespace linac::chain {

/// Of the cells within kBorder of a cell its features are made.
constexpr int64_t kBorder = 2;

/// Cells of a row that are judged together. Where that is done, a plane has room for so many more at its end.
constexpr int64_t kPieceCells = 8;

struct PlaneShape {
  int64_t x = 0, y = 0;

  int64_t row() const { return y + 2 * kBorder; }
  int64_t rows() const { return x + 2 * kBorder; }
  int64_t size() const { return row() * rows(); }
  int64_t pieces() const { return (y + kPieceCells - 1) / kPieceCells; }  // of a row
  int64_t at(int64_t i, int64_t j) const { return (i + kBorder) * row() + j + kBorder; }
};

/// [x + 2 kBorder][y + 2 kBorder]
using Plane = std::vector<float>;

/// Where the flight path of the primary crosses a layer, in cells; the centre of cell i lies at i + 0.5.
struct Axis {
  float x = 0, y = 0;
};

}  // namespace linac::chain
