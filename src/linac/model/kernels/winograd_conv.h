#pragma once
// Convolutions of plain images (plain_conv.h) with a kernel of 3 x 3 that visits every cell, by Winograd's minimal
// filtering F(2x2, 3x3) (Lavin and Gray, arXiv:1509.09308): 16 products of matrices in place of 36 for each 2 x 2
// cells, forward and for both gradients. The kernel's gradient is F(3x3, 2x2), whose transforms are the transposes.
//
// A sum has its terms in the same order for any number of events at a time, and on AVX2, AVX-512 and NEON; rounding is
// about that of the plain sum. One thread each; pure, thread-safe.

#include <cstdint>

#include "linac/model/kernels/isa.h"
#include "linac/model/kernels/matrix_kernels.h"
#include "linac/model/kernels/plain_conv.h"

namespace linac::kernels {

/// Whether it pays and fits: the kernel, channels that are multiples of 16, and something to compute.
bool winograd_takes(const PlainConvShape& shape);

/// Floats of a transformed kernel.
inline int64_t winograd_floats(const PlainConvShape& shape) {
  return 16 * shape.in_channels * shape.out_channels;
}

/// Tiles of 2 x 2 cells of an event.
inline int64_t winograd_tiles(const PlainConvShape& shape) {
  return (shape.out_y + 1) / 2 * ((shape.out_x + 1) / 2);
}

/// The kernel [3][3][in][out] as the forward pass wants it, winograd_floats() of them; `transposed`: as the one of
/// turned_back(shape) does, [in] and [out] of the kernel exchanged and its cells turned.
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

/// Adds what these events give to `sums` (winograd_floats()) and, if not null, the output's gradient to
/// bias_gradient [out].
void winograd_backward_kernel(const PlainConvShape& shape, const float* x, const float* y_gradient, int64_t events,
                              float* sums, double* bias_gradient, Isa isa = best_isa());

/// The gradient of the kernel [3][3][in][out] from such sums.
void winograd_kernel_gradient(const PlainConvShape& shape, const float* sums, float* gradient);

}  // namespace linac::kernels
