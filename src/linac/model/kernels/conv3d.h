#pragma once
// The shape of a 3-D convolution (stride 1), and the convolution of plain images through one of the blocked kernels
// (blocked_conv.h): what tests and benchmarks call. A network keeps its images blocked from layer to layer instead.
//
// Pure functions, thread-safe, one thread each. Images are dense [event][X][Y][Z][channel], weights
// [kx][ky][kz][in][out]: Keras's axes. No pointer may overlap another one's range; data may lie at any address.

#include <array>
#include <cstdint>
#include <vector>

#include "linac/model/kernels/isa.h"

namespace linac::kernels {

using Extent3 = std::array<int64_t, 3>;

inline int64_t cells(const Extent3& extent) {
  return extent[0] * extent[1] * extent[2];
}

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
  void check() const;
};

/// The kernel mirrored along x, y and z, with in and out channels exchanged: [kx][ky][kz][out][in].
std::vector<float> turned_kernel(const Conv3dShape& shape, const float* weights);

enum class ConvMethod;

/// out = bias + in * weights; `bias` may be null.
void conv3d_forward(const Conv3dShape& shape, int64_t events, const float* in, const float* weights, const float* bias,
                    float* out, ConvMethod method, Isa isa = best_isa());

/// in_gradient (overwritten) from out_gradient.
void conv3d_backward_data(const Conv3dShape& shape, int64_t events, const float* out_gradient, const float* weights,
                          float* in_gradient, ConvMethod method, Isa isa = best_isa());

/// weight_gradient and, if not null, bias_gradient (overwritten): sums over the events and cells.
void conv3d_backward_weights(const Conv3dShape& shape, int64_t events, const float* in, const float* out_gradient,
                             float* weight_gradient, float* bias_gradient, ConvMethod method, Isa isa = best_isa());

}  // namespace linac::kernels
