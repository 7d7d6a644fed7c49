#pragma once
// Images of 16 events in the blocked layout [X][Y][C][Z][16] (blocked_conv.h), and the way there and back from plain
// ones, [event][X][Y][Z][C]. Pure functions, thread-safe.

#include <cstdint>

#include "linac/model/kernels/conv3d.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/kernels/parallel.h"

namespace linac::kernels {

struct BlockedExtent {
  Extent3 cells;
  int64_t channels;

  int64_t row() const { return channels * cells[2] * 16; }  // floats
  int64_t plane() const { return cells[1] * row(); }
  int64_t floats() const { return cells[0] * plane(); }
};

/// `events` <= 16; the lanes behind them become zero.
void to_blocked(const BlockedExtent& extent, const float* plain, int64_t events, float* blocked,
                const Parallel& parallel, Isa isa = best_isa());
void to_plain(const BlockedExtent& extent, const float* blocked, int64_t events, float* plain, const Parallel& parallel,
              Isa isa = best_isa());

}  // namespace linac::kernels
