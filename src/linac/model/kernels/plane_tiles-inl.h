#pragma once
// The tiles of the convolution's loops, included by plane_kernels-inl.h (see there). A tile of sums stays in registers:
// `Rows` (cells along z, or taps) x `Channels` (output channels). The tile is the same for all instruction sets, except
// that one with half the registers splits the channels in two; so each sum has the same terms in the same order.

namespace linac::kernels {
namespace {

constexpr int64_t kTileChannels = 8;
constexpr int64_t kTileRows[kTileChannels + 1] = {0, 12, 10, 6, 5, 4, 4, 3, 3};  // by the tile's channels

int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}
int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/// `total` cut into the fewest parts of at most `most`, as even as can be.
struct Parts {
  int64_t total, count;
  Parts(int64_t total, int64_t most) : total(total), count((total + most - 1) / most) {}
  int64_t begin(int64_t i) const { return i * total / count; }
  int64_t size(int64_t i) const { return begin(i + 1) - begin(i); }
};

/// The output channels as tiles; tile_rows is what fits beside the widest of them in the largest register file.
struct ChannelParts {
  Parts wide;
  int64_t halves;
  int64_t tile_rows;
  explicit ChannelParts(int64_t channels)
      : wide(channels, kTileChannels),
        halves(kMaxChannels < kTileChannels ? 2 : 1),
        tile_rows(kTileRows[(channels + wide.count - 1) / wide.count]) {}
  int64_t count() const { return wide.count * halves; }
  int64_t begin(int64_t i) const {
    const int64_t part = i / halves;
    return wide.begin(part) + (i % halves) * ((wide.size(part) + 1) / 2);
  }
  int64_t end(int64_t i) const { return i % halves == halves - 1 ? wide.begin(i / halves + 1) : begin(i + 1); }
  int64_t size(int64_t i) const { return end(i) - begin(i); }
};

/// One tile of outputs: cells z..z+Rows of row y, Channels channels from `out` on.
struct ForwardTile {
  const PlaneShape* shape;
  const float* const* in;
  const float* weights;  // packed, of these channels
  float* out;
  int64_t y, z;
  bool streamed;      // past the caches
  const float* next;  // to be fetched meanwhile, a line for each row of taps; null for nothing
};

template <int Rows, int Channels>
void forward_tile(const ForwardTile& given) {
  const ForwardTile tile = given;  // copies that the stores below cannot change
  const int64_t out_line = tile.shape->out_line, out_cell = tile.shape->out_cell;
  const PlaneShape& shape = *tile.shape;
  const float* next = tile.next;
  const int64_t ky_begin = larger(0, shape.offset_y - tile.y);
  const int64_t ky_end = smaller(shape.kernel_y, shape.in_y + shape.offset_y - tile.y);
  // The taps along z for which some cell of the tile meets data.
  const int64_t kz_begin = larger(0, shape.z_begin - (tile.z + Rows - 1));
  const int64_t kz_end = smaller(shape.kernel_z, shape.z_end - tile.z);
  const int64_t line = shape.in_line(), taps = shape.kernel_z * Channels;
  for (int64_t lane = 0; lane < kBlockEvents; lane += kLanes) {
    Vec sums[Rows][Channels];
#pragma GCC unroll 16
    for (int c = 0; c < Channels; ++c) {
#pragma GCC unroll 16
      for (int r = 0; r < Rows; ++r) sums[r][c] = broadcast(0.0F);
    }
    for (int64_t kx = 0; kx < shape.kernel_x; ++kx) {
      if (tile.in[kx] == nullptr) continue;
      for (int64_t ky = ky_begin; ky < ky_end; ++ky) {
        if (next != nullptr) __builtin_prefetch((next += kBlockEvents), 0, 2);
        const float* x = tile.in[kx] + (tile.y + ky - shape.offset_y) * shape.in_row() + tile.z * kBlockEvents + lane;
        const float* w = tile.weights + (kx * shape.kernel_y + ky) * shape.in_channels * taps;
        for (int64_t ci = 0; ci < shape.in_channels; ++ci, x += line, w += taps) {
          for (int64_t kz = kz_begin; kz < kz_end; ++kz) {
            Vec cells[Rows];
#pragma GCC unroll 16
            for (int r = 0; r < Rows; ++r) cells[r] = load(x + (r + kz) * kBlockEvents);
#pragma GCC unroll 16
            for (int c = 0; c < Channels; ++c) {
              const Vec weight = in_register(broadcast(w[kz * Channels + c]));
#pragma GCC unroll 16
              for (int r = 0; r < Rows; ++r) sums[r][c] = multiply_add(cells[r], weight, sums[r][c]);
            }
          }
        }
      }
    }
    if (kLanes == kBlockEvents && tile.streamed) {
#pragma GCC unroll 16
      for (int c = 0; c < Channels; ++c) {
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) stream(tile.out + c * out_line + r * out_cell, sums[r][c]);
      }
      continue;
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < Channels; ++c) store(tile.out + c * out_line + r * out_cell + lane, sums[r][c]);
    }
  }
}

/// One tile of weight gradients: taps (in channel, kz) from `tap` on, Channels output channels, over a run of rows.
struct GradientTile {
  const PlaneShape* shape;
  const float* in;        // the first cell that tap (0, 0) meets in the first row
  const float* gradient;  // first channel at the first cell of the first row
  float* sums;            // of the first tap: [tap][out channel][16]
  int64_t rows, tap;
};

template <int Rows, int Channels>
void gradient_tile(const GradientTile& given) {
  const GradientTile tile = given;  // copies that the stores below cannot change
  const PlaneShape shape = *tile.shape;
  const int64_t sums_step = shape.out_channels * kBlockEvents;
  int64_t offsets[Rows];
#pragma GCC unroll 16
  for (int r = 0; r < Rows; ++r) {
    offsets[r] = (tile.tap + r) / shape.kernel_z * shape.in_line() + (tile.tap + r) % shape.kernel_z * kBlockEvents;
#pragma GCC unroll 16
    for (int c = 0; c < Channels; ++c) __builtin_prefetch(tile.sums + r * sums_step + c * kBlockEvents, 1);
  }
  for (int64_t lane = 0; lane < kBlockEvents; lane += kLanes) {
    Vec sums[Rows][Channels];
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < Channels; ++c) sums[r][c] = broadcast(0.0F);
    }
    for (int64_t row = 0; row < tile.rows; ++row) {
      const float* x = tile.in + row * shape.in_row() + lane;
      const float* g = tile.gradient + row * shape.out_row + lane;
      for (int64_t z = 0; z < shape.out_z; ++z, x += kBlockEvents, g += shape.out_cell) {
        Vec cells[Rows];
#pragma GCC unroll 16
        for (int r = 0; r < Rows; ++r) cells[r] = load(x + offsets[r]);
#pragma GCC unroll 16
        for (int c = 0; c < Channels; ++c) {
          const Vec gradient = in_register(load(g + c * shape.out_line));
#pragma GCC unroll 16
          for (int r = 0; r < Rows; ++r) sums[r][c] = multiply_add(cells[r], gradient, sums[r][c]);
        }
      }
    }
#pragma GCC unroll 16
    for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 16
      for (int c = 0; c < Channels; ++c) {
        float* const total = tile.sums + r * sums_step + c * kBlockEvents + lane;
        store(total, add(load(total), sums[r][c]));
      }
    }
  }
}

constexpr int kMaxRows = 12;

constexpr bool tile_exists(int64_t rows, int64_t channels) {
  if (channels > kMaxChannels) return false;
  // A half of c channels comes from a tile of at least 2c - 1.
  return rows <= kTileRows[kMaxChannels < kTileChannels ? 2 * channels - 1 : channels];
}

struct ForwardEntry {
  using Function = void (*)(const ForwardTile&);
  template <int Rows, int Channels>
  static constexpr Function kTile = forward_tile<Rows, Channels>;
};

struct GradientEntry {
  using Function = void (*)(const GradientTile&);
  template <int Rows, int Channels>
  static constexpr Function kTile = gradient_tile<Rows, Channels>;
};

/// The tiles by [channels][rows]; null for those that no shape needs.
template <class Entry>
struct TileTable {
  typename Entry::Function entries[kTileChannels + 1][kMaxRows + 1] = {};
  constexpr TileTable() { fill<kMaxRows, kTileChannels>(); }

  template <int Rows, int Channels>
  constexpr void fill() {
    if constexpr (tile_exists(Rows, Channels)) entries[Channels][Rows] = Entry::template kTile<Rows, Channels>;
    if constexpr (Rows > 1)
      fill<Rows - 1, Channels>();
    else if constexpr (Channels > 1)
      fill<kMaxRows, Channels - 1>();
  }
};

constexpr TileTable<ForwardEntry> kForwardTiles;
constexpr TileTable<GradientEntry> kGradientTiles;

}  // namespace
}  // namespace linac::kernels
