#pragma once
// The body of matrix_kernels.h, compiled once an instruction set (see plane_kernels-inl.h). Tiles differ between the
// instruction sets, the order of a sum's terms does not.

#include "linac/model/kernels/plane_tiles-inl.h"

namespace linac::kernels {
namespace {

constexpr int64_t kMatrixRows = kManyRegisters ? 8 : 6;
constexpr int64_t kMatrixVectors = kManyRegisters ? 4 : 2;
/// Rows beside so many vectors: their sums, the vectors and a cell fill the registers.
constexpr int64_t kRowsBeside[5] = {0, kMatrixRows, kMatrixRows, 6, 6};

inline Vec finished(Vec value, Vec bias, Vec slope) {
  const Vec sum = add(value, bias);
  return where_positive(sum, sum, multiply(sum, slope));
}

/// The sums of a tile, in the order of the terms.
template <int Rows, int Vectors>
__attribute__((always_inline)) inline void sum_products(const float* a, int64_t a_row, int64_t a_step, const float* b,
                                                        int64_t b_row, int64_t depth, Vec (&sums)[Rows][Vectors]) {
  for (int64_t k = 0; k < depth; ++k, a += a_step, b += b_row) {
    Vec values[Vectors];
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) values[v] = in_register(load(b + v * kLanes));
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const Vec cell = in_register(broadcast(a[r * a_row]));
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) sums[r][v] = multiply_add(cell, values[v], sums[r][v]);
    }
  }
}

template <int Rows, int Vectors>
void matrix_tile(const MatrixProduct& what, int64_t row, int64_t column) {
  const int64_t c_row = what.c_row;
  float* const c = what.c + row * c_row + column;
  Vec sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < Vectors; ++v) sums[r][v] = broadcast(0.0F);
  }
  const float *a = what.a + row * what.a_row, *b = what.b + column;
  for (int64_t segment = 0; segment < what.segments; ++segment, a += what.a_segment, b += what.depth * what.b_row)
    sum_products<Rows, Vectors>(a, what.a_row, what.a_step, b, what.b_row, what.depth, sums);
  if (what.add) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v)
        store(c + r * c_row + v * kLanes, add(load(c + r * c_row + v * kLanes), sums[r][v]));
    }
    return;
  }
  if (what.finish.bias == nullptr && what.finish.slope == 1) {
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 4
      for (int v = 0; v < Vectors; ++v) store(c + r * c_row + v * kLanes, sums[r][v]);
    }
    return;
  }
  const Vec slope = broadcast(what.finish.slope);
#pragma GCC unroll 4
  for (int v = 0; v < Vectors; ++v) {
    const Vec bias = what.finish.bias == nullptr ? broadcast(0.0F) : load(what.finish.bias + column + v * kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) store(c + r * c_row + v * kLanes, finished(sums[r][v], bias, slope));
  }
}

/// Functions by [rows][vectors], from 1 on.
template <int MostRows, int MostVectors>
struct MatrixTiles {
  using Function = void (*)(const MatrixProduct&, int64_t row, int64_t column);
  Function entries[MostRows + 1][MostVectors + 1] = {};
  constexpr MatrixTiles() { fill<MostRows, MostVectors>(); }

  template <int Rows, int Vectors>
  constexpr void fill() {
    entries[Rows][Vectors] = matrix_tile<Rows, Vectors>;
    if constexpr (Vectors > 1)
      fill<Rows, Vectors - 1>();
    else if constexpr (Rows > 1)
      fill<Rows - 1, MostVectors>();
  }
};
constexpr MatrixTiles<kMatrixRows, kMatrixVectors> kMatrixTiles;

void multiply_matrices(const MatrixProduct& what) {
  const Parts wide(what.columns / kLanes, kMatrixVectors);
  for (int64_t i = 0; i < wide.count; ++i) {
    const int64_t vectors = wide.size(i);
    const Parts high(what.rows, kRowsBeside[vectors]);
    for (int64_t j = 0; j < high.count; ++j)
      kMatrixTiles.entries[high.size(j)][vectors](what, high.begin(j), wide.begin(i) * kLanes);
  }
}

/// Cells x .. x + Cells of a row; `kWhole`: the kernel meets cells alone.
template <int Cells, bool kWhole>
inline void depthwise_cells(const DepthwiseRow& row, int64_t x) {
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    Vec sums[Cells];
#pragma GCC unroll 4
    for (int i = 0; i < Cells; ++i) sums[i] = broadcast(0.0F);
    for (int64_t ky = 0; ky < 3; ++ky) {
      if (row.rows[ky] == nullptr) continue;
      const float* const from = row.rows[ky] + (x - row.before_x) * row.channels + c;
      Vec cells[Cells + 2];
#pragma GCC unroll 6
      for (int i = 0; i < Cells + 2; ++i) {
        const int64_t at = x - row.before_x + i;
        cells[i] = kWhole || (at >= 0 && at < row.in_x) ? load(from + i * row.channels) : broadcast(0.0F);
      }
#pragma GCC unroll 3
      for (int kx = 0; kx < 3; ++kx) {
        const Vec weight = load(row.weights + (ky * 3 + kx) * row.channels + c);
#pragma GCC unroll 4
        for (int i = 0; i < Cells; ++i) sums[i] = multiply_add(cells[i + kx], weight, sums[i]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < Cells; ++i) store(row.to + (x + i) * row.channels + c, sums[i]);
  }
}

void depthwise_row(const DepthwiseRow& row) {
  const int64_t whole_from = row.before_x, whole_to = row.in_x + row.before_x - 2;  // of the output
  int64_t x = 0;
  for (; x < row.out_x && x < whole_from; ++x) depthwise_cells<1, false>(row, x);
  for (; x + 4 <= row.out_x && x + 4 <= whole_to; x += 4) depthwise_cells<4, true>(row, x);
  for (; x < row.out_x; ++x) depthwise_cells<1, false>(row, x);
}

void depthwise_gradient_row(const DepthwiseRow& row, float* sums) {
  for (int64_t c = 0; c < row.channels; c += kLanes) {
    for (int64_t ky = 0; ky < 3; ++ky) {
      if (row.rows[ky] == nullptr) continue;
      const float* const from = row.rows[ky] - row.before_x * row.channels + c;
      Vec taps[3];
#pragma GCC unroll 3
      for (int kx = 0; kx < 3; ++kx) taps[kx] = broadcast(0.0F);
      for (int64_t x = 0; x < row.out_x; ++x) {
        const Vec gradient = in_register(load(row.to + x * row.channels + c));
#pragma GCC unroll 3
        for (int64_t kx = 0; kx < 3; ++kx) {
          const int64_t at = x - row.before_x + kx;
          if (at >= 0 && at < row.in_x)
            taps[kx] = multiply_add(load(from + (x + kx) * row.channels), gradient, taps[kx]);
        }
      }
#pragma GCC unroll 3
      for (int kx = 0; kx < 3; ++kx) {
        float* const to = sums + (ky * 3 + kx) * row.channels + c;
        store(to, add(load(to), taps[kx]));
      }
    }
  }
}

// F(2x2, 3x3) of Lavin and Gray (arXiv:1509.09308), after Winograd. Sums and differences alone.

inline void along_image(Vec a, Vec b, Vec c, Vec d, Vec (&to)[4]) {
  to[0] = subtract(a, c);
  to[1] = add(b, c);
  to[2] = subtract(c, b);
  to[3] = subtract(b, d);
}

template <bool kWhole>
void tile_of_image_with(const ImageTile& tile, float* to, int64_t plane) {
  for (int64_t c = 0; c < tile.channels; c += kLanes) {
    Vec columns[4][4];  // [x][the number along y]
#pragma GCC unroll 4
    for (int64_t x = 0; x < 4; ++x) {
      Vec cells[4];
#pragma GCC unroll 4
      for (int64_t y = 0; y < 4; ++y) {
        const bool there = kWhole || (x >= tile.x_begin && x < tile.x_end && y >= tile.y_begin && y < tile.y_end);
        cells[y] = there ? load(tile.at + y * tile.in_row + x * tile.channels + c) : broadcast(0.0F);
      }
      along_image(cells[0], cells[1], cells[2], cells[3], columns[x]);
    }
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      Vec row[4];
      along_image(columns[0][y], columns[1][y], columns[2][y], columns[3][y], row);
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) store(to + (4 * y + x) * plane + c, row[x]);
    }
  }
}

void tile_of_image(const ImageTile& tile, float* to, int64_t plane) {
  const bool whole = tile.x_begin <= 0 && tile.x_end >= 4 && tile.y_begin <= 0 && tile.y_end >= 4;
  whole ? tile_of_image_with<true>(tile, to, plane) : tile_of_image_with<false>(tile, to, plane);
}

inline void along_gradient(Vec a, Vec b, Vec (&to)[4]) {
  to[0] = a;
  to[1] = add(a, b);
  to[2] = subtract(a, b);
  to[3] = subtract(broadcast(0.0F), b);
}

void tile_of_gradient(const OutputTile& tile, float* to, int64_t plane) {
  for (int64_t c = 0; c < tile.channels; c += kLanes) {
    Vec columns[2][4];
#pragma GCC unroll 2
    for (int64_t x = 0; x < 2; ++x) {
      Vec cells[2];
#pragma GCC unroll 2
      for (int64_t y = 0; y < 2; ++y) {
        const bool there = x < tile.x_count && y < tile.y_count;
        cells[y] = there ? load(tile.at + y * tile.out_row + x * tile.channels + c) : broadcast(0.0F);
      }
      along_gradient(cells[0], cells[1], columns[x]);
    }
#pragma GCC unroll 4
    for (int y = 0; y < 4; ++y) {
      Vec row[4];
      along_gradient(columns[0][y], columns[1][y], row);
#pragma GCC unroll 4
      for (int x = 0; x < 4; ++x) store(to + (4 * y + x) * plane + c, row[x]);
    }
  }
}

inline void along_cells(Vec a, Vec b, Vec c, Vec d, Vec (&to)[2]) {
  to[0] = add(add(a, b), c);
  to[1] = subtract(subtract(b, c), d);
}

/// cells[y][x] of the channels from `c` on.
inline void cells_of_tile(const float* from, int64_t plane, int64_t c, Vec (&cells)[2][2]) {
  Vec columns[4][2];
#pragma GCC unroll 4
  for (int x = 0; x < 4; ++x) {
    const float* const at = from + x * plane + c;
    along_cells(load(at), load(at + 4 * plane), load(at + 8 * plane), load(at + 12 * plane), columns[x]);
  }
#pragma GCC unroll 2
  for (int y = 0; y < 2; ++y) along_cells(columns[0][y], columns[1][y], columns[2][y], columns[3][y], cells[y]);
}

void tile_to_cells(const float* from, int64_t plane, const OutputTile& tile, const Finish& finish) {
  const Vec slope = broadcast(finish.slope);
  for (int64_t c = 0; c < tile.channels; c += kLanes) {
    Vec cells[2][2];
    cells_of_tile(from, plane, c, cells);
    const Vec bias = finish.bias == nullptr ? broadcast(0.0F) : load(finish.bias + c);
#pragma GCC unroll 2
    for (int64_t y = 0; y < 2; ++y) {
#pragma GCC unroll 2
      for (int64_t x = 0; x < 2; ++x) {
        if (y < tile.y_count && x < tile.x_count)
          store(tile.at + y * tile.out_row + x * tile.channels + c, finished(cells[y][x], bias, slope));
      }
    }
  }
}

void tile_to_largest(const float* from, int64_t plane, const OutputTile& tile, const Finish& finish, uint16_t* won) {
  const Vec slope = broadcast(finish.slope);
  const int64_t groups = tile.channels / 16;
  for (int64_t c = 0; c < tile.channels; c += kLanes) {
    Vec cells[2][2];
    cells_of_tile(from, plane, c, cells);
    const Vec bias = finish.bias == nullptr ? broadcast(0.0F) : load(finish.bias + c);
    Vec largest = cells[0][0];
    unsigned taken[4] = {(1U << kLanes) - 1, 0, 0, 0};
    taken[1] = take_larger(largest, cells[0][1]);
    taken[2] = take_larger(largest, cells[1][0]);
    taken[3] = take_larger(largest, cells[1][1]);
    store(tile.at + c, finished(largest, bias, slope));
    if (won == nullptr) continue;
    const int64_t lane = c % 16;
    unsigned later = 0;  // who took a channel last has it
    for (int64_t cell = 4; cell-- > 0;) {
      uint16_t& bits = won[cell * groups + c / 16];
      bits = static_cast<uint16_t>((lane == 0 ? 0U : bits) | (taken[cell] & ~later) << lane);
      later |= taken[cell];
    }
  }
}

constexpr MatrixKernels kMatrices{multiply_matrices, depthwise_row, depthwise_gradient_row, tile_of_image,
                                  tile_of_gradient,  tile_to_cells, tile_to_largest};

}  // namespace
}  // namespace linac::kernels
