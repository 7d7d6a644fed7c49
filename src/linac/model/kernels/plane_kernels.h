#pragma once
// The inner loops of the direct 3-D convolution, one table of functions an instruction set. They work on planes of
// constant x in the blocked layout [Y][C][Z][16]: the last axis holds 16 events, so that every vector operation works
// on 16 events at once whatever the number of channels, and no event's result depends on its neighbours.
// Pure functions, thread-safe.

#include <cstdint>

#include "linac/model/kernels/isa.h"

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

/// Rows that will be read next, fetched into the L2 cache while others are computed. Rows left: 0 for none.
struct ReadAhead {
  const float* row = nullptr;
  int64_t rows = 0, row_floats = 0, row_step = 0;
  int64_t at = 0;     // floats of the row already fetched
  int64_t lines = 0;  // that one call of a kernel shall fetch, spread over its work
};

/// The rows of an output plane that have one phase y, of a convolution folded with an up-sampling (upsample_conv.h),
/// and the planes of the image they depend on. Output z = up q + p meets the cells q ... q + taps[p] - 1.
struct PhaseShape {
  int64_t rows, row_step;  // rows of the output, and the floats from one to the next
  int64_t out_channels, out_line, up;
  const int64_t *counts, *taps;    // [up]: output cells and taps of each phase along z
  int64_t taps_x, taps_y, taps_z;  // taps_z: of all phases
  int64_t in_channels, in_cells;
  int64_t image_line, image_row, image_plane;  // floats; image rows: rows + taps_y - 1
};

/// Of a convolution to few channels: what the taps along x make of one plane of the image. Sum kx * channels + c
/// belongs to channel c of another plane of the output for each kx; [begin, end) of the `width` sums are wanted.
struct NarrowPlanes {
  int64_t width, begin, end;
  const float* const* from;  // [width]: what is there already, null for zeros; or the output's gradients
  float* const* to;          // [width]; may be the same
};

/// Results that are read much later need not displace others from the caches.
enum class Stores { kIntoCaches, kPastCaches };

struct PlaneKernels {
  /// Number of floats that pack_weights writes: taps() * out_channels.
  /// `weights`: [kernel_x][kernel_y][kernel_z][in][out], as Keras keeps them.
  void (*pack_weights)(const PlaneShape& shape, const float* weights, float* packed);

  /// Rows y_begin ... y_end - 1 of the convolution; `out`: the first of them. `in`: kernel_x planes, null where outside
  /// the image. The terms of each sum are added in the order (kx, ky, in channel, kz). `ahead`: what the caller will
  /// read next, fetched meanwhile, a line for each row of taps of a tile; null for nothing.
  void (*forward)(const PlaneShape& shape, int64_t y_begin, int64_t y_end, const float* const* in, const float* packed,
                  float* out, Stores stores, const float* ahead);

  /// sums[kx][ky][in][kz][out][16] += in * out_gradient over the plane's cells, lane by lane.
  void (*backward_weights)(const PlaneShape& shape, const float* const* in, const float* out_gradient, float* sums,
                           ReadAhead& ahead);

  /// `weights`: [tx][ty][(pz, tz)][in][out], for phase_gradient; `packed`: as many floats.
  void (*pack_phase)(const PhaseShape& shape, const float* weights, float* packed);

  /// Adds to planes of the image's gradient, [tx][rows + taps_y - 1][in][Z][16], what these output rows give.
  void (*phase_gradient)(const PhaseShape& shape, const float* out_gradient, const float* packed, float* image,
                         ReadAhead& ahead);

  /// One plane's part of a convolution, without padding along z. The shape is of one tap along x; out_row: of the
  /// planes that are pointed to, whose cells are next to each other. `weights`: [ky][in][kz][width].
  void (*narrow_forward)(const PlaneShape& shape, const float* in, const float* weights, const NarrowPlanes& planes);

  /// sums[ky][in][kz][width][16] += in * planes.from
  void (*narrow_weights)(const PlaneShape& shape, const float* in, const NarrowPlanes& planes, float* sums);
};

/// The most sums (taps along x times output channels) that the narrow kernels are meant for.
inline constexpr int64_t kNarrowest = 8;

/// The processor must have `isa` (has_isa).
const PlaneKernels& plane_kernels(Isa isa);

}  // namespace linac::kernels
