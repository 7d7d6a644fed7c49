#pragma once
// Convolutions of plain images, channels last, with a kernel of 3 x 3 that visits every cell, by Winograd's minimal
// filtering F(2x2, 3x3) (Lavin and Gray, arXiv:1509.09308): 16 products of matrices in place of 36 for each 2 x 2
// cells, forward and for both gradients. The kernel's gradient is F(3x3, 2x2), whose transforms are the transposes.
//
// A sum has its terms in the same order for any number of events at a time, and on AVX2, AVX-512 and NEON; rounding is
// about that of the plain sum. One thread each; pure, thread-safe.

#include <cstdint>
#include <vector>

#include "linac/kernels/isa.h"
#include "linac/kernels/matrix_kernels.h"

namespace linac::kernels {

/// Images [y][x][channel] of an event. Channels: multiples of 16. `before`: zeros in front of the first row and column.
struct PlainConvShape {
  int64_t in_y, in_x, in_channels;
  int64_t out_y, out_x, out_channels;
  int64_t before_y, before_x;

  int64_t in_floats() const { return in_y * in_x * in_channels; }
  int64_t out_floats() const { return out_y * out_x * out_channels; }
  int64_t tiles_x() const { return (out_x + 1) / 2; }
  int64_t tiles() const { return (out_y + 1) / 2 * tiles_x(); }
  /// Of a transformed kernel.
  int64_t kernel_floats() const { return 16 * in_channels * out_channels; }
  /// Of the convolution that gives the image's gradient from the output's.
  PlainConvShape transposed() const {
    return {out_y, out_x, out_channels, in_y, in_x, in_channels, 2 - before_y, 2 - before_x};
  }
};

/// Whether it pays and fits: the channels, and something to compute.
bool winograd_takes(const PlainConvShape& shape);

/// The kernel [3][3][in][out] as the forward pass wants it, kernel_floats() of them; `transposed`: as the one of
/// shape.transposed() does, [in] and [out] of the kernel exchanged and its cells turned.
void winograd_kernel(const PlainConvShape& shape, const float* kernel, bool transposed, float* to);

/// What follows the convolution, and where it goes.
struct WinogradOutput {
  Finish finish{};
  bool pooled = false;  // windows of 2 x 2 side by side: the largest of each alone, finished
  float* y = nullptr;
  uint16_t* winners = nullptr;  // with `pooled`, if not null: as max_pool.h keeps them
};

/// `kernel` comes from winograd_kernel.
void winograd_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* kernel,
                      const WinogradOutput& output, Isa isa = best_isa());

/// Adds what these events give to `sums` (kernel_floats()) and, if not null, the output's gradient to
/// bias_gradient [out].
void winograd_backward_kernel(const PlainConvShape& shape, const float* x, const float* y_gradient, int64_t events,
                              float* sums, double* bias_gradient, Isa isa = best_isa());

/// The gradient of the kernel [3][3][in][out] from such sums.
void winograd_kernel_gradient(const PlainConvShape& shape, const float* sums, float* gradient);

}  // namespace linac::kernels
