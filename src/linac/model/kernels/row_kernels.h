#pragma once
// What happens to an image between two convolutions, on rows of the blocked layout [rows][C][Z][16] while they are in
// the cache: bias, activation, batch normalisation, dropout, and their gradients. One table of functions an instruction
// set; kAvx2 and kAvx512 give the same bits. Pure functions, thread-safe.
//
// A stage of a network is  a = convolution + bias,  r = act(a),  y = dropout(normalised(r)).  Only r is kept: y is made
// from it when the next convolution reads its rows, and the sign of r tells the activation's slope.

#include <array>
#include <cstdint>

#include "linac/model/kernels/isa.h"

namespace linac::kernels {

/// How an image is kept between the passes: as it is computed, or rounded to bfloat16 (to nearest, ties to even).
enum class Storage { kFloat, kBfloat16 };

/// Rows of a kept image.
struct KeptRows {
  void* image;
  int64_t first = 0;  // value at which the rows begin
  Storage storage = Storage::kFloat;

  KeptRows at(int64_t values) const { return {image, first + values, storage}; }
  /// The rows where they lie; only for floats.
  float* floats() const { return static_cast<float*>(image) + first; }
};

struct RowShape {
  int64_t rows, channels, cells;  // cells along z
  int64_t floats() const { return rows * channels * cells * 16; }
  int64_t vectors() const { return rows * channels * cells; }
};

/// y = ((r - mean) * scale + shift) * kept where the mask has the event's bit; null pointers leave that part out.
struct RowTransform {
  const float *mean = nullptr, *scale = nullptr, *shift = nullptr;  // [channel]; all or none
  const uint16_t* mask = nullptr;                                   // [rows][channel][z], a bit an event
  float kept = 1;
};

/// The gradient towards a:  slope(r) * (y_factor * dr + r_factor * (r - mean) + offset), slope(r) = 1 where r > 0.
struct RowGradient {
  const float *y_factor = nullptr, *r_factor = nullptr, *offset = nullptr, *mean = nullptr;  // [channel]; all or none
  float slope = 1;                                                                           // where r <= 0
};

/// A pool's window along y and z; of the image under it the cells along z, and the bits from one plane to the next.
struct MaxWindow {
  int64_t size_y, size_z;
  int64_t cells, plane;
};

struct RowKernels {
  void (*transform)(const RowShape& shape, const KeptRows& r, const RowTransform& what, float* y);
  /// r = act(a + bias), `bias` null for none, `slope` where a + bias <= 0. `sums`, if not null: [channel][sum of r, sum
  /// of r^2][16] += over rows and z, of r as it is kept. r is written past the caches, being read much later.
  void (*activate)(const RowShape& shape, const float* a, const float* bias, float slope, double* sums,
                   const KeptRows& r);
  void (*gradient)(const RowShape& shape, const KeptRows& r, const KeptRows& y_gradient, const RowGradient& what,
                   float* a_gradient);
  /// The gradient through dropout; `sums`, if not null: [channel][sum of it, sum of it * (r - mean)][16] +=. `out` is
  /// written past the caches.
  void (*through_dropout)(const RowShape& shape, const float* y_gradient, const RowTransform& what, const KeptRows& r,
                          double* sums, const KeptRows& out);
  /// [channel][sum of the cells, unused][16] += over rows and z.
  void (*add_cells)(const RowShape& shape, const float* rows, double* sums);
  /// Means over blocks of rows x z cells: out[channel][z / size_z] += rows of one y of the pool / count.
  void (*pool)(const RowShape& shape, const float* rows, int64_t size_z, float factor, float* out);
  void (*unpool)(const RowShape& shape, const float* gradient, int64_t size_z, float factor, float* rows);
  /// The largest of each run of size_z cells of one row: best[channel][z / size_z], joined with what is there if rows
  /// of the same window came before, `earlier` of them. `bits`, if not null: [channel][z], an event's bit where this
  /// cell is its first largest so far; those of the earlier rows lie before them and are cleared where this row wins.
  /// A value that is no number is the largest, and stays it. Cells that no window covers are left alone.
  void (*max_pool)(const RowShape& row, const float* cells, int64_t size_z, int64_t earlier, float* best,
                   uint16_t* bits);
  /// The same along x: `best` of the windows' first plane joined with that of a later one, both [y][channel][z] of
  /// `pooled`. `bits`, if not null: of the later plane of the image.
  void (*max_planes)(const RowShape& pooled, const MaxWindow& window, int64_t earlier, float* best, const float* plane,
                     uint16_t* bits);
  /// The gradient of a row whose largest cells have their bit: rows[channel][z] = gradient[channel][z / size_z] or 0.
  void (*max_unpool)(const RowShape& row, const float* gradient, int64_t size_z, const uint16_t* bits, float* cells);
  /// Bits [element] of 16 events from number `event` on: set where a 16-bit random number is not below `threshold`.
  /// `key`, `counter`: of philox_sequence. Each event's elements are numbered from 0, eight to a block of Philox, and
  /// the events' blocks follow each other, `event_blocks` each.
  void (*keep_bits)(const uint32_t key[2], const uint32_t counter[2], uint64_t event, uint64_t event_blocks,
                    int64_t first_element, int64_t count, uint32_t threshold, uint16_t* bits);
  /// Independent multiply-adds in registers, for measuring: returns how many operations it did.
  double (*multiply_adds)(int64_t rounds);
  /// blocked[i][event] = source[event * stride + i], i < count; zeros from event `events` to 16. And the inverse.
  void (*block)(const float* source, int64_t stride, int64_t events, int64_t count, float* blocked);
  void (*unblock)(const float* blocked, int64_t stride, int64_t events, int64_t count, float* target);
};

const RowKernels& row_kernels(Isa isa);

}  // namespace linac::kernels
