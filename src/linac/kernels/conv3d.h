#pragma once
// 3-D convolution (stride 1) of many small-channel images on one CPU thread, for channel counts of the order of ten
// where matrix kernels starve: 16 events lie side by side in the vector lanes, so that every channel count fills them.
// The functions cut the batch into blocks of 16 events (the last one filled with zeros), bring a few planes of constant
// x at a time into the blocked layout of plane_kernels.h and compute on those; only these planes are held in memory.
//
// Pure functions, thread-safe, one thread each. A sum's order of terms depends on the shape alone: not on alignment, on
// the other events of the batch or on the thread. kAvx2 and kAvx512 give the same bits (isa.h).
//
// Images are dense [event][X][Y][Z][channel], weights [kx][ky][kz][in][out]: Keras's axes. No pointer may overlap
// another one's range, and all float data may lie at any address.

#include <array>
#include <cstdint>

#include "linac/kernels/isa.h"

namespace linac::kernels {

using Extent3 = std::array<int64_t, 3>;

/// A convolution with zeros `before` and `behind` each axis of the image. All extents and channels are positive, and
/// the padded image is at least as large as the kernel (checked; a violation is a bug of the caller).
struct Conv3dShape {
  Extent3 in;
  int64_t in_channels;
  Extent3 kernel;
  int64_t out_channels;
  Extent3 before{}, behind{};

  Extent3 out() const;
  int64_t in_floats() const;   // of one event
  int64_t out_floats() const;  // of one event
  int64_t weights() const;
  /// Additions and multiplications of one event, forward, the padding's included.
  double flop() const;
};

/// out = bias + in * weights; `bias` may be null.
void conv3d_forward(const Conv3dShape& shape, int64_t events, const float* in, const float* weights, const float* bias,
                    float* out, Isa isa = best_isa());

/// in_gradient (overwritten) from out_gradient.
void conv3d_backward_data(const Conv3dShape& shape, int64_t events, const float* out_gradient, const float* weights,
                          float* in_gradient, Isa isa = best_isa());

/// weight_gradient and, if not null, bias_gradient (overwritten): sums over the events and cells.
void conv3d_backward_weights(const Conv3dShape& shape, int64_t events, const float* in, const float* out_gradient,
                             float* weight_gradient, float* bias_gradient, Isa isa = best_isa());

}  // namespace linac::kernels
