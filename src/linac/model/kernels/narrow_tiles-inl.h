#pragma once
// Convolutions to few channels, included by plane_kernels-inl.h (see there). A plane of the image is met once, by all
// taps along x: those of each tap belong to another plane of the output, which takes a place of its own in the tile, as
// an output channel does. A cell in a register then serves as many sums as the kernel is wide, and the image is read
// from memory once, in its order, with the rows to come fetched meanwhile.

#include "linac/model/kernels/plane_tiles-inl.h"

namespace linac::kernels {
namespace {

constexpr int64_t kRowsAhead = 2;              // of the image, fetched while a row is computed
constexpr int64_t kNarrowRunBytes = 20 << 10;  // of the image: rows of a weight gradient that stay in the L1 cache

/// Memory to be fetched evenly while something else is computed.
struct NextLines {
  const char* at;
  int64_t step;  // bytes

  /// `bytes` from `from` on, in `steps` steps.
  static NextLines spread(const float* from, int64_t bytes, int64_t steps) {
    return {reinterpret_cast<const char*>(from), (bytes + steps - 1) / steps};
  }
  void fetch() {
    for (int64_t i = 0; i < step; i += 64) __builtin_prefetch(at + i, 0, 2);  // not into L1, which is full
    at += step;
  }
  void skip(int64_t steps) { at += steps * step; }
};

/// Cells z..z+Rows of row y of Channels planes and channels.
struct NarrowTile {
  const PlaneShape* shape;
  const float* in;
  const float* weights;  // of the first channel
  const NarrowPlanes* planes;
  int64_t first, y, z;
  NextLines next;
};

/// sums += cells from x on * the weights of one tap.
template <int Rows, int Channels>
__attribute__((always_inline)) inline void add_tap(const float* x, const float* w, Vec (&sums)[Rows][Channels]) {
  Vec cells[Rows];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) cells[r] = load(x + r * kBlockEvents);
#pragma GCC unroll 16
  for (int c = 0; c < Channels; ++c) {
    const Vec weight = in_register(broadcast(w[c]));
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) sums[r][c] = multiply_add(cells[r], weight, sums[r][c]);
  }
}

template <int Rows, int Channels>
void narrow_tile(const NarrowTile& tile) {
  const PlaneShape shape = *tile.shape;
  const int64_t ky_begin = larger(0, shape.offset_y - tile.y);
  const int64_t ky_end = smaller(shape.kernel_y, shape.in_y + shape.offset_y - tile.y);
  const int64_t line = shape.in_line(), row = shape.in_row(), width = tile.planes->width;
  const int64_t at = tile.y * shape.out_row + tile.z * kBlockEvents;
  NextLines next = tile.next;
  for (int64_t lane = 0; lane < kBlockEvents; lane += kLanes) {
    Vec sums[Rows][Channels];
#pragma GCC unroll 16
    for (int c = 0; c < Channels; ++c) {
      const float* const from = tile.planes->from[tile.first + c];
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r)
        sums[r][c] = from == nullptr ? broadcast(0.0F) : load(from + at + r * kBlockEvents + lane);
    }
    for (int64_t ky = ky_begin; ky < ky_end; ++ky) {
      const float* x = tile.in + (tile.y + ky - shape.offset_y) * row + tile.z * kBlockEvents + lane;
      const float* w = tile.weights + ky * shape.in_channels * shape.kernel_z * width;
      for (int64_t ci = 0; ci < shape.in_channels; ++ci, x += line) {
        next.fetch();
        if (shape.kernel_z == 2) {  // a loop this short costs as much as its work
          add_tap(x, w, sums);
          add_tap(x + kBlockEvents, w + width, sums);
          w += 2 * width;
          continue;
        }
        for (int64_t kz = 0; kz < shape.kernel_z; ++kz, w += width) add_tap(x + kz * kBlockEvents, w, sums);
      }
    }
#pragma GCC unroll 16
    for (int c = 0; c < Channels; ++c) {
      float* const to = tile.planes->to[tile.first + c] + at + lane;
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) store(to + r * kBlockEvents, sums[r][c]);
    }
  }
}

/// Weight gradients of taps (in channel, kz) from `tap` on, for Channels planes and channels, over a run of rows.
struct NarrowGradientTile {
  const PlaneShape* shape;
  const float* in;  // the first cell that tap (0, 0) meets in the first row
  const float* const* gradients;
  int64_t row, rows, tap, sums_step;
  NextLines next;
  float* sums;  // of the first tap
};

template <int Rows, int Channels>
void narrow_gradient_tile(const NarrowGradientTile& given) {
  const NarrowGradientTile tile = given;  // copies that the stores below cannot change
  const PlaneShape shape = *tile.shape;
  NextLines next = tile.next;
  int64_t offsets[Rows];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r)
    offsets[r] = (tile.tap + r) / shape.kernel_z * shape.in_line() + (tile.tap + r) % shape.kernel_z * kBlockEvents;
  for (int64_t lane = 0; lane < kBlockEvents; lane += kLanes) {
    Vec sums[Rows][Channels];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < Channels; ++c) sums[r][c] = broadcast(0.0F);
    }
    for (int64_t row = 0; row < tile.rows; ++row) {
      const float* x = tile.in + row * shape.in_row() + lane;
      int64_t at = (tile.row + row) * shape.out_row + lane;
      for (int64_t z = 0; z < shape.out_z; ++z, x += kBlockEvents, at += kBlockEvents) {
        Vec cells[Rows];
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) cells[r] = load(x + offsets[r]);
        next.fetch();
#pragma GCC unroll 16
        for (int c = 0; c < Channels; ++c) {
          const Vec gradient = in_register(load(tile.gradients[c] + at));
#pragma GCC unroll 16
          for (int r = 0; r < Rows; ++r) sums[r][c] = multiply_add(cells[r], gradient, sums[r][c]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < Channels; ++c) {
        float* const total = tile.sums + r * tile.sums_step + c * kBlockEvents + lane;
        store(total, add(load(total), sums[r][c]));
      }
    }
  }
}

struct NarrowEntry {
  using Function = void (*)(const NarrowTile&);
  template <int Rows, int Channels>
  static constexpr Function kTile = narrow_tile<Rows, Channels>;
};

struct NarrowGradientEntry {
  using Function = void (*)(const NarrowGradientTile&);
  template <int Rows, int Channels>
  static constexpr Function kTile = narrow_gradient_tile<Rows, Channels>;
};

constexpr TileTable<NarrowEntry> kNarrowTiles;
constexpr TileTable<NarrowGradientEntry> kNarrowGradientTiles;

void narrow_forward(const PlaneShape& shape, const float* in, const float* weights, const NarrowPlanes& planes) {
  const ChannelParts channels(planes.end - planes.begin);
  const Parts cells(shape.out_z, channels.tile_rows);
  const int64_t steps = shape.kernel_y * shape.in_channels * (kBlockEvents / kLanes),
                row_bytes = shape.in_row() * static_cast<int64_t>(sizeof(float));
  for (int64_t y = 0; y < shape.out_y; ++y) {
    NextLines next = NextLines::spread(in + (y + shape.kernel_y - shape.offset_y - 1 + kRowsAhead) * shape.in_row(),
                                       row_bytes, steps * cells.count * channels.count());
    for (int64_t i = 0; i < cells.count; ++i) {
      for (int64_t part = 0; part < channels.count(); ++part, next.skip(steps)) {
        if (channels.size(part) == 0) continue;
        const int64_t first = planes.begin + channels.begin(part);
        kNarrowTiles.entries[channels.size(part)][cells.size(i)](
            {&shape, in, weights + first, &planes, first, y, cells.begin(i), next});
      }
    }
  }
}

void narrow_weights(const PlaneShape& shape, const float* in, const NarrowPlanes& planes, float* sums) {
  const ChannelParts channels(planes.end - planes.begin);
  const Parts taps(shape.kernel_z * shape.in_channels, channels.tile_rows);
  const int64_t row_bytes = shape.in_row() * static_cast<int64_t>(sizeof(float)),
                run = larger(1, kNarrowRunBytes / row_bytes);
  const int64_t steps = shape.out_z * (kBlockEvents / kLanes);
  NarrowGradientTile tile{};
  tile.shape = &shape;
  tile.sums_step = planes.width * kBlockEvents;
  for (int64_t y = 0; y < shape.out_y; y += run) {
    tile.next = NextLines::spread(in + (y + shape.kernel_y - shape.offset_y - 1 + kRowsAhead) * shape.in_row(),
                                  run * row_bytes, run * steps * shape.kernel_y * taps.count * channels.count());
    for (int64_t ky = 0; ky < shape.kernel_y; ++ky) {
      const int64_t begin = larger(y, shape.offset_y - ky);
      const int64_t end = smaller(smaller(y + run, shape.out_y), shape.in_y + shape.offset_y - ky);
      if (begin >= end) continue;
      tile.row = begin, tile.rows = end - begin;
      tile.in = in + (begin + ky - shape.offset_y) * shape.in_row();
      for (int64_t i = 0; i < taps.count; ++i) {
        tile.tap = taps.begin(i);
        for (int64_t part = 0; part < channels.count(); ++part) {
          if (channels.size(part) == 0) continue;
          const int64_t first = planes.begin + channels.begin(part);
          tile.gradients = planes.from + first;
          tile.sums = sums + ((ky * taps.total + tile.tap) * planes.width + first) * kBlockEvents;
          kNarrowGradientTiles.entries[channels.size(part)][taps.size(i)](tile);
          tile.next.skip(tile.rows * steps);
        }
      }
    }
  }
}

}  // namespace
}  // namespace linac::kernels
