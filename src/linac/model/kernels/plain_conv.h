#pragma once
// Convolutions of plain images, channels last: what the methods share, and two of them. winograd_conv.h has the one
// for many channels.
//
// Few channels: a row of the kernel meets neighbouring numbers of the image, so each row of cells is one product of
// matrices. Separable ones in inference: a row of the depthwise result stays in the cache until the pointwise product
// has read it.
//
// A sum has its terms in the same order for any number of events at a time, and on AVX2, AVX-512 and NEON. One thread
// each; pure, thread-safe.

#include <cstdint>

#include "linac/model/kernels/isa.h"
#include "linac/model/kernels/matrix_kernels.h"

namespace linac::kernels {

/// Images [y][x][channel] of an event. `before`: zeros in front of the first row and column; behind the last ones as
/// many as the output needs.
struct PlainConvShape {
  int64_t in_y, in_x, in_channels;
  int64_t out_y, out_x, out_channels;
  int64_t before_y, before_x;
  int64_t kernel_y = 3, kernel_x = 3, stride_y = 1, stride_x = 1;

  int64_t in_floats() const { return in_y * in_x * in_channels; }
  int64_t out_floats() const { return out_y * out_x * out_channels; }
  int64_t kernel_floats() const { return kernel_y * kernel_x * in_channels * out_channels; }
};

/// The convolution of 3 x 3 that visits every cell which gives the image's gradient from the output's, by a kernel
/// whose cells are turned.
PlainConvShape turned_back(const PlainConvShape& shape);

/// Whether the kernel has 3 x 3 cells and steps from each to the next; there is an output.
bool visits_every_cell(const PlainConvShape& shape);
/// Whether so many channels are whole vectors of every instruction set.
bool fills_vectors(int64_t channels);

/// Whether the method for few channels takes it: at most 8 of them, and a multiple of 16 of the output.
bool rows_take(const PlainConvShape& shape);

/// y = finished convolution with `kernel` [y][x][in][out].
void rows_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* kernel,
                  const Finish& finish, float* y, Isa isa = best_isa());

/// Adds what these events give to `kernel_gradient` [y][x][in][out] and bias_gradient [out].
void rows_backward_kernel(const PlainConvShape& shape, const float* x, const float* y_gradient, int64_t events,
                          float* kernel_gradient, double* bias_gradient, Isa isa = best_isa());

/// Whether each channel by itself is taken: 3 x 3, every cell, a multiple of 16 of channels, as many out as in.
bool depthwise_takes(const PlainConvShape& shape);

/// y = the depthwise convolution with `kernel` [y][x][channel].
void depthwise_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* kernel, float* y,
                       Isa isa = best_isa());

/// Adds what these events give to `kernel_gradient`.
void depthwise_backward_kernel(const PlainConvShape& shape, const float* x, const float* y_gradient, int64_t events,
                               float* kernel_gradient, Isa isa = best_isa());

/// Whether the separable one is taken: 3 x 3, every cell, multiples of 16 of channels, one depthwise result of each.
bool separable_takes(const PlainConvShape& shape);

/// `depthwise` [y][x][in], `pointwise` [in][out].
void separable_forward(const PlainConvShape& shape, const float* x, int64_t events, const float* depthwise,
                       const float* pointwise, const Finish& finish, float* y, Isa isa = best_isa());

/// += the sum over `rows` of gradient[row][channel].
void add_channel_sums(const float* gradient, int64_t rows, int64_t channels, double* sums);

}  // namespace linac::kernels
