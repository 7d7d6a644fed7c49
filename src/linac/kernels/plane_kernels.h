#pragma once
// The inner loops of the 3-D convolution, one table of functions an instruction set. They work on planes of constant x
// in the blocked layout [Y][Z][C][16]: the last axis holds 16 events, so that every vector operation works on 16
// events at once whatever the number of channels, and no event's result depends on its neighbours.
// Pure functions, thread-safe. Used through conv3d.h.

#include <cstdint>

#include "linac/kernels/isa.h"

namespace linac::kernels {

inline constexpr int64_t kBlockEvents = 16;

/// One plane of output and the planes of input it reads. Input rows along z are padded: out_z + kernel_z - 1 cells, of
/// which [z_begin, z_end) hold data and the others zeros. Along y nothing is padded: output y reads the input rows
/// y + ky - offset_y that exist.
struct PlaneShape {
  int64_t kernel_x, kernel_y, kernel_z;
  int64_t in_y, in_channels;
  int64_t out_y, out_z, out_channels;
  int64_t offset_y;
  int64_t z_begin, z_end;

  int64_t in_row_cells() const { return out_z + kernel_z - 1; }
  int64_t in_row() const { return in_row_cells() * in_channels * kBlockEvents; }  // floats
  int64_t in_plane() const { return in_y * in_row(); }
  int64_t out_row() const { return out_z * out_channels * kBlockEvents; }
  int64_t out_plane() const { return out_y * out_row(); }
  int64_t taps() const { return kernel_x * kernel_y * kernel_z * in_channels; }
};

struct PlaneKernels {
  /// Number of floats that pack_weights writes: taps() * out_channels.
  /// `weights`: [kernel_x][kernel_y][kernel_z][in][out], as Keras keeps them.
  void (*pack_weights)(const PlaneShape& shape, const float* weights, float* packed);

  /// out = bias + convolution. `in`: kernel_x planes, null where outside the image; `bias` may be null.
  /// The terms of each sum are added in the order (kx, ky, kz, in channel).
  void (*forward)(const PlaneShape& shape, const float* const* in, const float* packed, const float* bias, float* out);

  /// sums[kx][ky][kz][in][out][16] += in * out_gradient over the plane's cells, lane by lane.
  void (*backward_weights)(const PlaneShape& shape, const float* const* in, const float* out_gradient, float* sums);

  /// blocked[i][event] = events[event * stride + i], i < count; zeros from event `events` to 16.
  void (*block)(const float* source, int64_t stride, int64_t events, int64_t count, float* blocked);
  /// The inverse, for the first `events` lanes.
  void (*unblock)(const float* blocked, int64_t stride, int64_t events, int64_t count, float* target);
};

/// The processor must have `isa` (has_isa).
const PlaneKernels& plane_kernels(Isa isa);

}  // namespace linac::kernels
