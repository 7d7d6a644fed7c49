#pragma once
// The inner loops of max_pool.h, one table of functions an instruction set; all give the same bits. Pure, thread-safe.

#include <cstdint>

#include "linac/model/kernels/isa.h"

namespace linac::kernels {

/// A row of windows over a plain image, channels last: cell (r, k) of window i lies at
/// offsets[r] + (i * depth + k) * channels.
struct PoolRow {
  const int64_t* offsets;
  int64_t rows, depth, windows, channels;

  int64_t cells() const { return rows * depth; }                 // of a window
  int64_t groups() const { return (channels + 15) / 16; }        // of channels, a bit each
  int64_t bits() const { return windows * cells() * groups(); }  // words of 16 bits
};

struct PoolKernels {
  /// y[window][channel] = act(largest + bias); `bias` may be null. `won`, if not null, [window][cell][group]: the bit
  /// of a channel is set where the cell is the first largest.
  void (*forward)(const PoolRow& row, const float* x, const float* bias, float slope, float* y, uint16_t* won);
  /// All cells of the windows; bias[groups * 16] += the gradients behind the activation.
  void (*backward)(const PoolRow& row, const float* y_gradient, const float* y, const uint16_t* won, float slope,
                   float* x, float* bias);
};

const PoolKernels& pool_kernels(Isa isa);

}  // namespace linac::kernels
