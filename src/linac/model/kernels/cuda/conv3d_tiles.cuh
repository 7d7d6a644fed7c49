#pragma once
// The shapes of conv3d.cu: a convolution as the device sees it, and how it is cut into tiles. A tile is a rectangle of
// one plane (x) of one event, `rows` by `cells` output cells; what it reads is its patch of the input, wider by the
// kernel.

#include <algorithm>
#include <cstdint>

#include "linac/model/kernels/conv3d.h"

namespace linac::kernels::cuda {

constexpr int kThreads = 128, kCells = 4;       // forward: threads of a block, cells of a thread
constexpr int kWeightThreads = 256, kTaps = 4;  // gradient to weights: threads of a block at most, taps of a thread
constexpr int kTileCellsMax = 64;               // along z
constexpr int kSharedFloats = 10240;            // 40 KiB: every GPU has it without asking, and room for several blocks
constexpr int kWeightBlocks = 1024;  // about so many blocks add up weights: a fixed number, since it orders the sums

struct Geometry {
  int in[3], out[3], kernel[3], before[3];
  int in_channels, out_channels;

  explicit Geometry(const Conv3dShape& shape)
      : in_channels(static_cast<int>(shape.in_channels)), out_channels(static_cast<int>(shape.out_channels)) {
    const Extent3 extent = shape.out();
    for (size_t i = 0; i < 3; ++i) {
      in[i] = static_cast<int>(shape.in[i]);
      out[i] = static_cast<int>(extent[i]);
      kernel[i] = static_cast<int>(shape.kernel[i]);
      before[i] = static_cast<int>(shape.before[i]);
    }
  }
};

/// Equal parts of at most `most`.
inline int part_of(int whole, int most) {
  const int parts = (whole + most - 1) / most;
  return (whole + parts - 1) / parts;
}
inline int parts_of(int whole, int part) {
  return (whole + part - 1) / part;
}

struct Tiles {
  int rows, cells;            // of the output, along y and z
  int row_tiles, cell_tiles;  // of a plane
  int width, patch;           // cells of a patch along z, and in all
  int channels;               // input channels at a time
  int groups;                 // of output channels
  int floats;                 // of shared memory

  explicit Tiles(const Geometry& g) : cells(part_of(g.out[2], kTileCellsMax)) {
    cell_tiles = parts_of(g.out[2], cells);
    width = cells + g.kernel[2] - 1;
  }
  void cut_rows(const Geometry& g, int most) {
    rows = part_of(g.out[1], std::max(1, most));
    row_tiles = parts_of(g.out[1], rows);
    patch = (rows + g.kernel[1] - 1) * width;
  }
};

/// Forward: kThreads * kCells cells at most, and as many input channels as fit beside their weights.
struct ForwardTiles : Tiles {
  ForwardTiles(const Geometry& g, int out_group) : Tiles(g) {
    cut_rows(g, kThreads * kCells / cells);
    const int channel = patch + g.kernel[1] * g.kernel[2] * out_group;
    channels = part_of(g.in_channels, std::clamp(kSharedFloats / channel, 1, g.in_channels));
    groups = parts_of(g.out_channels, out_group);
    floats = channels * channel;
  }
  bool fit() const { return floats <= kSharedFloats; }
};

/// Gradient to weights: a block adds up the taps of one kx and of `channels` input channels, kTaps a thread; `lanes`
/// threads share the cells of a tap.
struct WeightTiles : Tiles {
  int in_groups, tap_threads, lanes, slices;

  WeightTiles(const Geometry& g, int out_group, int64_t events) : Tiles(g) {
    const int taps = g.kernel[1] * g.kernel[2];
    channels = part_of(g.in_channels, std::clamp(kWeightThreads * kTaps / taps, 1, g.in_channels));
    in_groups = parts_of(g.in_channels, channels);
    tap_threads = parts_of(taps * channels, kTaps);
    lanes = std::max(1, kWeightThreads / tap_threads);
    // Rows: what remains of the memory after the kernel's halo.
    const int halo = (g.kernel[1] - 1) * width * channels, row = width * channels + cells * (out_group + 1);
    cut_rows(g, (kSharedFloats - halo) / row);
    groups = parts_of(g.out_channels, out_group);
    floats = std::max(patch * channels + rows * cells * (out_group + 1), threads() * out_group);
    const int64_t blocks = static_cast<int64_t>(g.kernel[0]) * in_groups * groups, planes = events * g.out[0];
    slices = static_cast<int>(std::clamp<int64_t>(kWeightBlocks / blocks, 1, planes));
  }
  int threads() const { return (tap_threads * lanes + 31) / 32 * 32; }
  bool fit() const { return floats <= kSharedFloats && tap_threads <= kWeightThreads; }
};

}  // namespace linac::kernels::cuda
