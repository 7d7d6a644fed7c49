#pragma once
// The gradient towards the small image of a folded up-sampling (upsample_conv.h), included by plane_kernels-inl.h (see
// there). The output's gradient is read where it lies: the cells that one input cell meets under one tap are `up` cells
// apart. As in plane_tiles-inl.h a tile of cells along z times input channels stays in registers; taps whose cells lie
// partly outside of a line add the rows of the tile that exist, so nothing is multiplied by zero.

#include "linac/model/kernels/plane_tiles-inl.h"

namespace linac::kernels {
namespace {

/// Lines of `ahead` for each of `steps` steps.
int64_t lines_a_step(const ReadAhead& ahead, int64_t steps) {
  return (ahead.lines + steps - 1) / steps;
}

inline void read_ahead(ReadAhead& ahead, int64_t lines) {
  for (; lines > 0 && ahead.rows > 0; --lines) {
    __builtin_prefetch(ahead.row + ahead.at, 0, 2);  // not into L1, which is full
    ahead.at += kBlockEvents;
    if (ahead.at < ahead.row_floats) continue;
    ahead.at = 0, ahead.row += ahead.row_step, --ahead.rows;
  }
}

/// One tile of the image's gradient: cells z..z+Rows of row y, Channels channels from `image` on.
struct PhaseTile {
  const PhaseShape* shape;
  const float* gradient;
  const float* weights;  // of these channels: [ty][(pz, tz)][out channel][Channels]
  float* image;
  int64_t y, z;
  ReadAhead* ahead;
  int64_t lines;  // read ahead a tap along z
};

/// One tap, for rows Begin ... End - 1 of the tile: sums over the output channels.
template <int Begin, int End, int Rows, int Channels>
__attribute__((always_inline)) inline void add_tap(const PhaseShape& shape, const float* x, const float* w,
                                                   Vec (&sums)[Rows][Channels]) {
  for (int64_t co = 0; co < shape.out_channels; ++co, x += shape.out_line, w += Channels) {
    Vec cells[Rows];
#pragma GCC unroll 16
    for (int r = Begin; r < End; ++r) cells[r] = load(x + r * shape.up * kBlockEvents);
#pragma GCC unroll 16
    for (int c = 0; c < Channels; ++c) {
      const Vec weight = in_register(broadcast(w[c]));
#pragma GCC unroll 16
      for (int r = Begin; r < End; ++r) sums[r][c] = multiply_add(cells[r], weight, sums[r][c]);
    }
  }
}

/// Rows begin ... end - 1, halving the tile until they fit: the edges of a line are few kinds.
template <int Begin, int End, int Rows, int Channels>
__attribute__((always_inline)) inline void add_rows(const PhaseShape& shape, const float* x, const float* w,
                                                    int64_t begin, int64_t end, Vec (&sums)[Rows][Channels]) {
  if (begin <= Begin && end >= End) {
    add_tap<Begin, End>(shape, x, w, sums);
  } else if constexpr (End - Begin > 1) {
    constexpr int kMiddle = (Begin + End + 1) / 2;
    if (begin < kMiddle) add_rows<Begin, kMiddle>(shape, x, w, begin, end, sums);
    if (end > kMiddle) add_rows<kMiddle, End>(shape, x, w, begin, end, sums);
  }
}

template <int Rows, int Channels>
void phase_tile(const PhaseTile& tile) {
  const PhaseShape shape = *tile.shape;
  const int64_t line = shape.image_line, tap_floats = shape.out_channels * Channels;
  const int64_t ty_begin = larger(0, tile.y - (shape.rows - 1)), ty_end = smaller(shape.taps_y, tile.y + 1);
  for (int64_t lane = 0; lane < kBlockEvents; lane += kLanes) {
    Vec sums[Rows][Channels];
#pragma GCC unroll 16
    for (int c = 0; c < Channels; ++c) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) sums[r][c] = load(tile.image + c * line + r * kBlockEvents + lane);
    }
    for (int64_t ty = ty_begin; ty < ty_end; ++ty) {
      const float* const row = tile.gradient + (tile.y - ty) * shape.row_step + lane;
      const float* w = tile.weights + ty * shape.taps_z * tap_floats;
      for (int64_t pz = 0; pz < shape.up; ++pz) {
        for (int64_t tz = 0; tz < shape.taps[pz]; ++tz, w += tap_floats) {
          const int64_t begin = larger(0, tz - tile.z), end = smaller(Rows, shape.counts[pz] + tz - tile.z);
          const float* const x = row + ((tile.z - tz) * shape.up + pz) * kBlockEvents;
          if (begin < end) add_rows<0, Rows>(shape, x, w, begin, end, sums);
          if (lane == 0) read_ahead(*tile.ahead, tile.lines);
        }
      }
    }
#pragma GCC unroll 16
    for (int c = 0; c < Channels; ++c) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) store(tile.image + c * line + r * kBlockEvents + lane, sums[r][c]);
    }
  }
}

struct PhaseEntry {
  using Function = void (*)(const PhaseTile&);
  template <int Rows, int Channels>
  static constexpr Function kTile = phase_tile<Rows, Channels>;
};

constexpr TileTable<PhaseEntry> kPhaseTiles;

}  // namespace
}  // namespace linac::kernels
