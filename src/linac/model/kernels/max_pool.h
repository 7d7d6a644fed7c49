#pragma once
// Max pooling of plain images, channels last, with the bias and the activation that stand before it: neither changes
// the order of two cells, so both are applied to the largest alone. For convolutions that LibTorch computes; those of
// a chain pool their rows (row_kernels.h). Windows lie side by side; cells that none covers do not count.
//
// One thread, pure, thread-safe; every instruction set gives the same bits.

#include <cstdint>

#include "linac/model/kernels/conv3d.h"
#include "linac/model/kernels/isa.h"

namespace linac::kernels {

/// One event's image [x][y][z][channel]; images of fewer axes have one cell along the first. At least one window along
/// each axis.
struct PoolShape {
  Extent3 in, window;
  int64_t channels;

  Extent3 out() const { return {in[0] / window[0], in[1] / window[1], in[2] / window[2]}; }
  int64_t in_floats() const { return cells(in) * channels; }
  int64_t out_floats() const { return cells(out()) * channels; }
  /// Words of 16 bits that say which cells were the largest.
  int64_t winners() const { return cells(out()) * cells(window) * ((channels + 15) / 16); }
};

/// y = act(largest + bias): `bias` may be null, results below 0 are multiplied by `slope` >= 0. `winners`, if not null:
/// the first largest cells, as the backward pass wants to know them. A value that is no number is the largest.
void max_pool_forward(const PoolShape& shape, const float* x, const float* bias, float slope, float* y,
                      uint16_t* winners, Isa isa = best_isa());

/// x_gradient (overwritten) from y_gradient, y and winners of the forward pass; bias_gradient [channel], if not null,
/// +=.
void max_pool_backward(const PoolShape& shape, const float* y_gradient, const float* y, const uint16_t* winners,
                       float slope, float* x_gradient, double* bias_gradient, Isa isa = best_isa());

}  // namespace linac::kernels
