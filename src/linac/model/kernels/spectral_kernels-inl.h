#pragma once
// The body of the spectral convolution's loops, compiled once an instruction set (see plane_kernels-inl.h for what the
// including file defines and why all is in an anonymous namespace).

#include "linac/model/kernels/fft-inl.h"

namespace linac::kernels {
namespace {

/// Spectra of two real rows a and b out of that of a + i b, times two: bin k from elements k and size - k.
inline void separate(const FftPlan& plan, const float* joined, float* a, float* b, int64_t bin_step) {
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    for (int64_t k = 0; k < plan.bins(); ++k) {
      const float* const p = joined + k * kComplexFloats + lane;
      const float* const q = joined + (k == 0 ? 0 : plan.size - k) * kComplexFloats + lane;
      const Complex x{load(p), load(p + 16)}, y{load(q), load(q + 16)};
      stream(a + k * bin_step + lane, add(x.re, y.re));
      stream(a + k * bin_step + lane + 16, subtract(x.im, y.im));
      if (b == nullptr) continue;
      stream(b + k * bin_step + lane, add(x.im, y.im));
      stream(b + k * bin_step + lane + 16, subtract(y.re, x.re));
    }
  }
}

/// The spectrum of a + i b out of those of the real rows a and b; b may be null. `next`: what the following call reads,
/// a piece of 256 bytes a bin that no processor would guess.
inline void join(const FftPlan& plan, const float* a, const float* b, int64_t bin_step, const float* next,
                 float* joined) {
  for (int64_t k = 0; k < plan.bins(); ++k) {
    for (int64_t line = 0; line < 4; ++line) __builtin_prefetch(next + k * bin_step + line * 16);
  }
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    for (int64_t k = 0; k < plan.bins(); ++k) {
      const Complex zero{broadcast(0.0F), broadcast(0.0F)};
      Complex x{load(a + k * bin_step + lane), load(a + k * bin_step + lane + 16)};
      Complex y = b == nullptr ? zero : Complex{load(b + k * bin_step + lane), load(b + k * bin_step + lane + 16)};
      const bool alone = k == 0 || 2 * k == plan.size;  // of a real row: no imaginary part but rounding
      if (alone) x.im = y.im = broadcast(0.0F);
      float* const p = joined + k * kComplexFloats + lane;
      store(p, subtract(x.re, y.im)), store(p + 16, add(x.im, y.re));
      if (alone) continue;
      float* const q = joined + (plan.size - k) * kComplexFloats + lane;
      store(q, add(x.re, y.im)), store(q + 16, subtract(y.re, x.im));
    }
  }
}

void forward_z(const FftPlan& plan, const RealRows& shape, const float* rows, float* out, float* scratch) {
  const int64_t line = shape.cells * 16, row = shape.channels * line;
  const bool pair = shape.rows == 2;
  float* const joined = scratch + plan.size * kComplexFloats;
  for (int64_t c = 0; c < shape.channels; ++c, rows += line, out += shape.channel_step) {
    // A row without a partner travels with itself: a + i a.
    transform(plan, {rows, pair ? rows + row : rows, 16, shape.cells, line},
              {joined, joined + 16, kComplexFloats, plan.size, 0}, scratch);
    separate(plan, joined, out, pair ? out + kComplexFloats : nullptr, shape.bin_step);
  }
  finish_streams();
}

void inverse_z(const FftPlan& plan, const RealRows& shape, const float* in, int64_t offset, float* rows,
               float* scratch) {
  const int64_t line = shape.cells * 16, row = shape.channels * line;
  const bool pair = shape.rows == 2;
  float* const joined = scratch + plan.size * kComplexFloats;
  const float* const next_rows = in + 2 * kComplexFloats;
  for (int64_t c = 0; c < shape.channels; ++c, rows += line, in += shape.channel_step) {
    const float* const next = c + 1 < shape.channels ? in + shape.channel_step : next_rows;
    join(plan, in, pair ? in + kComplexFloats : nullptr, shape.bin_step, next, joined);
    // The inverse transform is the forward one with real and imaginary parts exchanged. A partner that is absent is
    // written into the row first and overwritten by the row itself.
    transform(plan, {joined + 16, joined, kComplexFloats, plan.size},
              {pair ? rows + row : rows, rows, 16, shape.cells, offset % plan.size}, scratch);
  }
}

void forward_lines(const FftPlan& plan, int64_t lines, const float* in, const ComplexLines& source, float* out,
                   const ComplexLines& target, float* scratch) {
  for (int64_t l = 0; l < lines; ++l) {
    const float* const from = in + l * source.line;
    float* const to = out + l * target.line;
    transform(plan, {from, from + 16, source.step, source.count, source.line},
              {to, to + 16, target.step, target.count, 0}, scratch);
  }
}

void inverse_lines(const FftPlan& plan, int64_t lines, const float* in, const ComplexLines& source, float* out,
                   const ComplexLines& target, int64_t offset, float* scratch) {
  for (int64_t l = 0; l < lines; ++l) {
    const float* const from = in + l * source.line;
    float* const to = out + l * target.line;
    transform(plan, {from + 16, from, source.step, source.count, source.line},
              {to + 16, to, target.step, target.count, offset % plan.size}, scratch, Reuse::kLate);
  }
  finish_streams();
}

// Rows (cells along x) beside a number of channels in the largest register file, two sums each.
constexpr int64_t kComplexTileChannels = 4;
constexpr int64_t kComplexTileRows[kComplexTileChannels + 1] = {0, 8, 5, 4, 3};

template <int Rows, int Channels>
inline __attribute__((always_inline)) void clear(Complex (&sums)[Rows][Channels]) {
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < Channels; ++c) sums[r][c] = {broadcast(0.0F), broadcast(0.0F)};
  }
}

/// Channel by channel to `to`, `row` floats from one row to the next.
template <int Rows, int Channels>
inline __attribute__((always_inline)) void write(const Complex (&sums)[Rows][Channels], float* to, int64_t row) {
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int c = 0; c < Channels; ++c) {
      float* const cell = to + r * row + c * kComplexFloats;
      store(cell, sums[r][c].re), store(cell + 16, sums[r][c].im);
    }
  }
}

/// sums[.][c] += cells * conj(re + i im), the real factor first.
template <int Rows, int Channels>
inline __attribute__((always_inline)) void add_products(const Complex (&cells)[Rows], Vec re, Vec im,
                                                        Complex (&sums)[Rows][Channels], int c) {
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    sums[r][c].re = multiply_add(cells[r].re, re, sums[r][c].re);
    sums[r][c].im = multiply_add(cells[r].im, re, sums[r][c].im);
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
    sums[r][c].re = multiply_add(cells[r].im, im, sums[r][c].re);
    sums[r][c].im = negative_multiply_add(cells[r].re, im, sums[r][c].im);
  }
}

struct ProductTile {
  const float* in;       // first kx and ci of the first row
  const float* weights;  // first kx
  float* out;            // first row and channel
  int64_t kernel_x, in_channels, out_channels;
};

template <int Rows, int Channels>
void product_tile(const ProductTile& tile) {
  const int64_t row = tile.in_channels * kComplexFloats, block = tile.in_channels * tile.out_channels;
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    Complex sums[Rows][Channels];
    clear(sums);
    const float* x = tile.in + lane;
    const float* w = tile.weights;
    for (int64_t kx = 0; kx < tile.kernel_x; ++kx, w += block) {
      for (int64_t ci = 0; ci < tile.in_channels; ++ci, x += kComplexFloats, w += tile.out_channels) {
        Complex cells[Rows];
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) cells[r] = {load(x + r * row), load(x + r * row + 16)};
#pragma GCC unroll 8
        for (int c = 0; c < Channels; ++c) {
          const Vec re = in_register(broadcast(w[c])), im = in_register(broadcast(w[block + c]));
          add_products(cells, re, im, sums, c);
        }
      }
    }
    write(sums, tile.out + lane, tile.out_channels * kComplexFloats);
  }
}

struct ProductGradientTile {
  const float* in;            // first kx and ci, first x
  const float* out_gradient;  // first channel, first x
  float* sums;                // of the first row and channel: [row][channel of all][32]
  int64_t cells, in_step, gradient_step, sums_step;
};

/// Rows are input channels of one kx.
template <int Rows, int Channels>
void product_gradient_tile(const ProductGradientTile& tile) {
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    Complex sums[Rows][Channels];
    clear(sums);
    const float* x = tile.in + lane;
    const float* g = tile.out_gradient + lane;
    for (int64_t i = 0; i < tile.cells; ++i, x += tile.in_step, g += tile.gradient_step) {
      Complex cells[Rows];
#pragma GCC unroll 8
      for (int r = 0; r < Rows; ++r) cells[r] = {load(x + r * kComplexFloats), load(x + r * kComplexFloats + 16)};
#pragma GCC unroll 8
      for (int c = 0; c < Channels; ++c) {
        const Vec re = in_register(load(g + c * kComplexFloats)), im = in_register(load(g + c * kComplexFloats + 16));
        add_products(cells, re, im, sums, c);
      }
    }
    write(sums, tile.sums + lane, tile.sums_step);
  }
}

struct ProductEntry {
  using Function = void (*)(const ProductTile&);
  template <int Rows, int Channels>
  static constexpr Function kTile = product_tile<Rows, Channels>;
};
struct ProductGradientEntry {
  using Function = void (*)(const ProductGradientTile&);
  template <int Rows, int Channels>
  static constexpr Function kTile = product_gradient_tile<Rows, Channels>;
};

constexpr int kComplexRowsMax = 8;

/// The tiles by [channels][rows]; null for those that no shape needs.
template <class Entry>
struct ComplexTileTable {
  typename Entry::Function entries[kComplexTileChannels + 1][kComplexRowsMax + 1] = {};
  constexpr ComplexTileTable() { fill<kComplexRowsMax, kComplexTileChannels>(); }

  template <int Rows, int Channels>
  constexpr void fill() {
    if constexpr (Rows <= complex_rows(Channels)) entries[Channels][Rows] = Entry::template kTile<Rows, Channels>;
    if constexpr (Rows > 1)
      fill<Rows - 1, Channels>();
    else if constexpr (Channels > 1)
      fill<kComplexRowsMax, Channels - 1>();
  }
  // Half the rows where half the registers are: no sum depends on its tile.
  static constexpr int64_t complex_rows(int64_t channels) {
    const int64_t rows = kComplexTileRows[channels];
    return kManyRegisters ? rows : rows / 2;
  }
};
constexpr ComplexTileTable<ProductEntry> kProductTiles;
constexpr ComplexTileTable<ProductGradientEntry> kProductGradientTiles;

/// Channels as tiles, and how many rows fit beside the widest of them.
struct ComplexParts {
  Parts channels;
  int64_t rows;
  explicit ComplexParts(int64_t total)
      : channels(total, kComplexTileChannels),
        rows(ComplexTileTable<ProductEntry>::complex_rows((total + channels.count - 1) / channels.count)) {}
};

void product(const ProductShape& shape, const float* in, const float* weights, float* out) {
  const ComplexParts parts(shape.out_channels);
  const Parts rows(shape.out_x, parts.rows);
  const int64_t tap = 2 * shape.in_channels * shape.out_channels;
  for (int64_t f = 0; f < shape.frequencies; ++f) {
    for (int64_t i = 0; i < rows.count; ++i) {
      const int64_t x = rows.begin(i), count = rows.size(i);
      // Taps for which all rows of the tile meet zeros only are left out.
      const int64_t begin = larger(0, shape.data_begin - (x + count - 1)),
                    end = smaller(shape.kernel_x, shape.data_end - x);
      for (int64_t part = 0; part < parts.channels.count; ++part) {
        const int64_t c = parts.channels.begin(part);
        const ProductTile tile{in + f * shape.in_frequency + (x + begin) * shape.in_channels * kComplexFloats,
                               weights + (f * shape.kernel_x + begin) * tap + c,
                               out + f * shape.out_frequency + (x * shape.out_channels + c) * kComplexFloats,
                               larger(0, end - begin),
                               shape.in_channels,
                               shape.out_channels};
        kProductTiles.entries[parts.channels.size(part)][count](tile);
      }
    }
  }
}

/// Sums over the first `events` lanes, 16 vectors at a time, lane after lane.
inline void add_lanes(const float* vectors, int64_t events, float* sums, float* scratch) {
  unblock_16(vectors, 16, events, scratch);
  for (int64_t lane = 0; lane < 16; lane += kLanes) {
    Vec sum = load(scratch + lane);
    for (int64_t event = 1; event < events; ++event) sum = add(sum, load(scratch + event * 16 + lane));
    store(sums + lane, sum);
  }
}

void product_gradient(const ProductShape& shape, const float* in, const float* out_gradient, int64_t events,
                      float* gradient, float* scratch) {
  const ComplexParts parts(shape.out_channels);
  const Parts rows(shape.in_channels, parts.rows);
  const int64_t pairs = shape.in_channels * shape.out_channels, total = shape.kernel_x * pairs;
  float* const lanes = scratch + total * kComplexFloats;  // 16 x 16
  for (int64_t f = 0; f < shape.frequencies; ++f) {
    for (int64_t kx = 0; kx < shape.kernel_x; ++kx) {
      // Rows of x whose cell x + kx holds data.
      const int64_t begin = larger(0, shape.data_begin - kx), end = smaller(shape.out_x, shape.data_end - kx);
      for (int64_t i = 0; i < rows.count; ++i) {
        for (int64_t part = 0; part < parts.channels.count; ++part) {
          const int64_t ci = rows.begin(i), c = parts.channels.begin(part);
          const ProductGradientTile tile{
              in + f * shape.in_frequency + ((begin + kx) * shape.in_channels + ci) * kComplexFloats,
              out_gradient + f * shape.out_frequency + (begin * shape.out_channels + c) * kComplexFloats,
              scratch + ((kx * shape.in_channels + ci) * shape.out_channels + c) * kComplexFloats,
              larger(0, end - begin),
              shape.in_channels * kComplexFloats,
              shape.out_channels * kComplexFloats,
              shape.out_channels * kComplexFloats};
          kProductGradientTiles.entries[parts.channels.size(part)][rows.size(i)](tile);
        }
      }
    }
    // [kx][ci, co][re, im][16] -> [kx][re, im][ci, co]
    float sums[16];
    for (int64_t first = 0; first < 2 * total; first += 16) {
      const int64_t here = smaller(16, 2 * total - first);
      add_lanes(scratch + first * 16, events, sums, lanes);
      for (int64_t i = 0; i < here; ++i) {
        const int64_t kx = (first + i) / 2 / pairs, pair = (first + i) / 2 % pairs, part = (first + i) % 2;
        gradient[((f * shape.kernel_x + kx) * 2 + part) * pairs + pair] += sums[i];
      }
    }
  }
}

constexpr SpectralKernels kSpectral{forward_z, inverse_z, forward_lines, inverse_lines, product, product_gradient};

}  // namespace
}  // namespace linac::kernels
