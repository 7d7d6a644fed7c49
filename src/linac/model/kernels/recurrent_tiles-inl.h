#pragma once
// The matrix products of recurrent_kernels.h, tiles of sums in registers, compiled once an instruction set (see
// plane_kernels-inl.h). Tiles differ between the instruction sets, the order of a sum's terms does not.

#include "linac/model/kernels/plane_tiles-inl.h"

namespace linac::kernels {
namespace {

constexpr int64_t kProjectVectors = 2;
constexpr int64_t kProjectColumns = kManyRegisters ? 14 : 6;
constexpr int64_t kOuterRows = kManyRegisters ? 5 : 4;
constexpr int64_t kOuterVectors = kManyRegisters ? 5 : 3;
constexpr int64_t kBlockVectors = 16 / kLanes;

void pack_matrix(const MatrixRows* parts, int64_t part_count, int64_t columns, float* packed) {
  const Parts tiles(columns, kProjectColumns);
  for (int64_t tile = 0; tile < tiles.count; ++tile) {
    for (const MatrixRows* part = parts; part < parts + part_count; ++part) {
      for (int64_t r = 0; r < part->rows; ++r) {
        const float* const row = part->at + r * part->row_step;
        for (int64_t c = tiles.begin(tile); c < tiles.begin(tile + 1); ++c) *packed++ = row[c * part->column_step];
      }
    }
  }
}

/// A tile's columns from `column` on, and its first vector: `block` and lane.
struct ProjectTile {
  const Projection* what;
  const float *matrix, *ahead;
  int64_t column, block, lane;
};

template <int Vectors, int Columns>
void project_tile(const ProjectTile& tile) {
  const Projection& what = *tile.what;
  // The vectors of a tile are neighbours in a block or, where a vector fills a block, those of two blocks.
  const auto apart = [](int64_t block) { return kBlockVectors == 1 ? block : int64_t{kLanes}; };
  const int64_t out_apart = apart(what.out_block);
  float* const out = what.out + tile.block * what.out_block + tile.lane + tile.column * 16;
  Vec sums[Columns][Vectors];
#pragma GCC unroll 16
  for (int c = 0; c < Columns; ++c) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) sums[c][v] = what.added ? load(out + c * 16 + v * out_apart) : broadcast(0.0F);
  }
  const float *w = tile.matrix, *ahead = tile.ahead;
  for (const LaneRows& in : what.in) {
    const int64_t in_apart = apart(in.block);
    const float* x = in.at + tile.block * in.block + tile.lane;
    for (int64_t r = 0; r < in.count; ++r, x += 16, w += Columns, ahead += 16) {
      __builtin_prefetch(ahead, 0, 2);  // not into L1, which is full
      Vec values[Vectors];
#pragma GCC unroll 2
      for (int v = 0; v < Vectors; ++v) values[v] = load(x + v * in_apart);
#pragma GCC unroll 16
      for (int c = 0; c < Columns; ++c) {
        const Vec weight = in_register(broadcast(w[c]));
#pragma GCC unroll 2
        for (int v = 0; v < Vectors; ++v) sums[c][v] = multiply_add(values[v], weight, sums[c][v]);
      }
    }
  }
#pragma GCC unroll 16
  for (int c = 0; c < Columns; ++c) {
#pragma GCC unroll 2
    for (int v = 0; v < Vectors; ++v) store(out + c * 16 + v * out_apart, sums[c][v]);
  }
}

/// Rows from `row` on and columns from `column` on.
struct OuterTile {
  const OuterProduct* what;
  int64_t row, column;
};

template <int Rows, int Vectors>
void outer_tile(const OuterTile& tile) {
  const OuterProduct what = *tile.what;  // a copy that the stores below cannot change
  Vec sums[Rows][Vectors];
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) sums[r][v] = broadcast(0.0F);
  }
  const float* d = what.deltas + tile.column;
  for (int64_t step = 0; step < what.steps; ++step) {
    for (int64_t block = 0; block < what.blocks; ++block) {
      const float* const x = what.rows.at + step * what.rows_step + block * what.rows.block + tile.row * 16;
      for (int64_t lane = 0; lane < 16; ++lane, d += what.deltas_stride) {
        Vec deltas[Vectors];
#pragma GCC unroll 8
        for (int v = 0; v < Vectors; ++v) deltas[v] = in_register(load(d + v * kLanes));
#pragma GCC unroll 8
        for (int r = 0; r < Rows; ++r) {
          const Vec value = in_register(broadcast(x[r * 16 + lane]));
#pragma GCC unroll 8
          for (int v = 0; v < Vectors; ++v) sums[r][v] = multiply_add(value, deltas[v], sums[r][v]);
        }
      }
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (int v = 0; v < Vectors; ++v) {
      float* const total = what.sums + (tile.row + r) * what.sums_stride + tile.column + v * kLanes;
      store(total, add(load(total), sums[r][v]));
    }
  }
}

struct ProjectEntry {
  using Function = void (*)(const ProjectTile&);
  template <int Vectors, int Columns>
  static constexpr Function kTile = project_tile<Vectors, Columns>;
};

struct OuterEntry {
  using Function = void (*)(const OuterTile&);
  template <int Rows, int Vectors>
  static constexpr Function kTile = outer_tile<Rows, Vectors>;
};

/// Functions by [first size][second size], from 1 on.
template <class Entry, int First, int Second>
struct RecurrentTiles {
  typename Entry::Function entries[First + 1][Second + 1] = {};
  constexpr RecurrentTiles() { fill<First, Second>(); }

  template <int A, int B>
  constexpr void fill() {
    entries[A][B] = Entry::template kTile<A, B>;
    if constexpr (B > 1)
      fill<A, B - 1>();
    else if constexpr (A > 1)
      fill<A - 1, Second>();
  }
};

constexpr RecurrentTiles<ProjectEntry, kProjectVectors, kProjectColumns> kProjectTiles;
constexpr RecurrentTiles<OuterEntry, kOuterRows, kOuterVectors> kOuterTiles;

void project(const Projection& what) {
  const Parts tiles(what.columns, kProjectColumns);
  const int64_t rows = what.in[0].count + what.in[1].count, vectors = what.blocks * kBlockVectors;
  for (int64_t i = 0; i < tiles.count; ++i) {
    const float* const ahead = what.ahead == nullptr ? what.in[0].at : what.ahead + i * rows * 16;
    ProjectTile tile{&what, what.matrix + tiles.begin(i) * rows, ahead, tiles.begin(i), 0, 0};
    for (int64_t v = 0; v < vectors; v += kProjectVectors) {
      tile.block = v / kBlockVectors, tile.lane = v % kBlockVectors * kLanes;
      kProjectTiles.entries[smaller(kProjectVectors, vectors - v)][tiles.size(i)](tile);
    }
  }
}

void add_outer(const OuterProduct& what) {
  const Parts rows(what.rows.count, kOuterRows), vectors((what.columns + kLanes - 1) / kLanes, kOuterVectors);
  // The columns run slowest: their deltas stay in the L1 cache.
  for (int64_t v = 0; v < vectors.count; ++v) {
    for (int64_t r = 0; r < rows.count; ++r)
      kOuterTiles.entries[rows.size(r)][vectors.size(v)]({&what, rows.begin(r), vectors.begin(v) * kLanes});
  }
}

}  // namespace
}  // namespace linac::kernels
