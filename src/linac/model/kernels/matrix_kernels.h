#pragma once
// The inner loops of plain images and matrices, channels last, one table of functions an instruction set: products of
// matrices with what may follow them, and the transforms of winograd_conv.h. AVX2, AVX-512 and NEON give the same bits.
// Pure, thread-safe.

#include <cstdint>

#include "linac/model/kernels/isa.h"

namespace linac::kernels {

/// What is done to a result: the bias is added (null: none), results below 0 are multiplied by `slope` >= 0.
struct Finish {
  const float* bias = nullptr;
  float slope = 1;
};

/// c[r][n] = sum over s < segments and k < depth of a[r * a_row + s * a_segment + k * a_step] * b[s * depth + k][n], in
/// the order of s and k; added to what is there if `add`, in which case nothing follows.
struct MatrixProduct {
  const float* a;
  int64_t a_row, a_segment, a_step;
  const float* b;  // rows of b_row floats
  int64_t b_row;
  float* c;
  int64_t c_row;
  int64_t rows, columns;  // columns: a multiple of 16
  int64_t segments, depth;
  bool add = false;
  Finish finish{};
};

/// A tile of 4 x 4 cells of an image, `in_row` floats from row to row: cells [y_begin, y_end) x [x_begin, x_end) of it
/// are there, the others are zeros. Channels: a multiple of 16.
struct ImageTile {
  const float* at;  // where cell (0, 0) would be
  int64_t in_row, channels;
  int64_t y_begin, y_end, x_begin, x_end;
};

/// The 2 x 2 cells that a tile computes, of which y_count x x_count are wanted.
struct OutputTile {
  float* at;
  int64_t out_row, channels;
  int64_t y_count, x_count;
};

/// A row of cells, each channel by itself: `rows` are those of the image that a kernel of 3 x 3 meets, null where there
/// is none. Channels: a multiple of 16.
struct DepthwiseRow {
  const float* rows[3];
  int64_t in_x, before_x, out_x, channels;
  const float* weights;  // [3][3][channel]
  float* to;             // [x][channel]
};

struct MatrixKernels {
  void (*multiply)(const MatrixProduct& product);
  void (*depthwise)(const DepthwiseRow& row);
  /// sums[3][3][channel] += the weights' gradient from such a row, whose `to` is the gradient of its results.
  void (*depthwise_gradient)(const DepthwiseRow& row, float* sums);
  /// to[p * plane + channel] = the 16 numbers of B' d B, p from row to row. The matrices are those of F(2x2, 3x3).
  void (*tile_of_image)(const ImageTile& tile, float* to, int64_t plane);
  /// The same of A g A': g are 2 x 2 cells of a gradient.
  void (*tile_of_gradient)(const OutputTile& tile, float* to, int64_t plane);
  /// The cells A' m A of from[p * plane + channel], finished.
  void (*tile_to_cells)(const float* from, int64_t plane, const OutputTile& tile, const Finish& finish);
  /// The largest of a tile's 2 x 2 cells, finished. `won`, if not null: [cell][group of 16 channels] a bit for the
  /// first largest, as in pool_kernels.h.
  void (*tile_to_largest)(const float* from, int64_t plane, const OutputTile& tile, const Finish& finish,
                          uint16_t* won);
};

const MatrixKernels& matrix_kernels(Isa isa);

}  // namespace linac::kernels
