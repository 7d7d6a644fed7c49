#pragma once
// The inner loops of the direct 3-D convolution, one table of functions an instruction set. They work on planes of
// constant x in the blocked layout [Y][C][Z][16]: the last axis holds 16 events, so that every vector operation works
// on 16 events at once whatever the number of channels, and no event's result depends on its neighbours.
// Pure functions, thread-safe.

#include <cstdint>

#include "linac/kernels/isa.h"

namespace linac::kernels {

inline constexpr int64_t kBlockEvents = 16;

/// One plane of output and the planes of input it reads. Lines of input along z are padded to `in_cells`, of which
/// [z_begin, z_end) hold data and the others zeros. Along y nothing is padded: output y reads the input rows y + ky -
/// offset_y that exist. Output cells may lie apart, so that they can be every sixth of an image.
struct PlaneShape {
  int64_t kernel_x, kernel_y, kernel_z;
  int64_t in_y, in_channels, in_cells;  // in_cells >= out_z + kernel_z - 1
  int64_t out_y, out_channels, out_z;
  int64_t offset_y;
  int64_t z_begin, z_end;
  int64_t out_row, out_line, out_cell;  // floats from one y, channel, z of the output to the next

  int64_t in_line() const { return in_cells * kBlockEvents; }  // floats
  int64_t in_row() const { return in_channels * in_line(); }
  int64_t in_plane() const { return in_y * in_row(); }
  int64_t taps() const { return kernel_x * kernel_y * kernel_z * in_channels; }
};

enum class Sums { kOverwrite, kAdd };

struct PlaneKernels {
  /// Number of floats that pack_weights writes: taps() * out_channels.
  /// `weights`: [kernel_x][kernel_y][kernel_z][in][out], as Keras keeps them.
  void (*pack_weights)(const PlaneShape& shape, const float* weights, float* packed);

  /// The convolution, written to `out` or added to it. `in`: kernel_x planes, null where outside the image.
  /// The terms of each sum are added in the order (kx, ky, in channel, kz).
  void (*forward)(const PlaneShape& shape, const float* const* in, const float* packed, float* out, Sums sums);

  /// sums[kx][ky][in][kz][out][16] += in * out_gradient over the plane's cells, lane by lane.
  void (*backward_weights)(const PlaneShape& shape, const float* const* in, const float* out_gradient, float* sums);
};

/// The processor must have `isa` (has_isa).
const PlaneKernels& plane_kernels(Isa isa);

}  // namespace linac::kernels
