#pragma once
// The loops of plane_kernels.h. Like the other *-inl.h files it is compiled once an instruction set, with its own
// flags, as part of kernels_<isa>.cpp, which defines in an anonymous namespace: Vec (kLanes floats), the operations on
// it, kMaxChannels and kManyRegisters for the sizes of tiles, and block_16 / unblock_16. Everything here is in an
// anonymous namespace and uses no templates of the standard library: the linker must not hand a function built for one
// processor to code meant for another.

#include "linac/model/kernels/narrow_tiles-inl.h"
#include "linac/model/kernels/phase_tiles-inl.h"
#include "linac/model/kernels/plane_tiles-inl.h"

namespace linac::kernels {
namespace {

constexpr int64_t kGradientRunBytes = 24 << 10;  // output gradients of a run of rows: they stay in the L1 cache

void pack_weights(const PlaneShape& shape, const float* weights, float* packed) {
  const ChannelParts parts(shape.out_channels);
  for (int64_t part = 0; part < parts.count(); ++part) {
    for (int64_t row = 0; row < shape.kernel_x * shape.kernel_y; ++row) {
      for (int64_t ci = 0; ci < shape.in_channels; ++ci) {
        for (int64_t kz = 0; kz < shape.kernel_z; ++kz) {
          const float* const tap =
              weights + ((row * shape.kernel_z + kz) * shape.in_channels + ci) * shape.out_channels;
          for (int64_t c = parts.begin(part); c < parts.end(part); ++c) *packed++ = tap[c];
        }
      }
    }
  }
}

void forward(const PlaneShape& shape, int64_t y_begin, int64_t y_end, const float* const* in, const float* packed,
             float* out, Stores stores, const float* ahead) {
  const ChannelParts channels(shape.out_channels);
  const Parts rows(shape.out_z, channels.tile_rows);
  const bool streamed = stores == Stores::kPastCaches && reinterpret_cast<uintptr_t>(out) % 64 == 0;
  for (int64_t part = 0; part < channels.count(); ++part) {
    const int64_t c = channels.begin(part), width = channels.size(part);
    if (width == 0) continue;
    // y runs fastest: the input rows that neighbouring y share stay in the L2 cache for one piece of z, not for all.
    for (int64_t i = 0; i < rows.count; ++i) {
      const auto function = kForwardTiles.entries[width][rows.size(i)];
      ForwardTile tile{&shape, in, packed + c * shape.taps(), nullptr, 0, rows.begin(i), streamed, ahead};
      for (tile.y = y_begin; tile.y < y_end; ++tile.y) {
        tile.out = out + (tile.y - y_begin) * shape.out_row + c * shape.out_line + tile.z * shape.out_cell;
        function(tile);
        if (tile.next != nullptr) tile.next += shape.kernel_x * shape.kernel_y * kBlockEvents;
      }
      ahead = tile.next;
    }
  }
  if (streamed && y_end == shape.out_y) finish_streams();
}

void backward_weights(const PlaneShape& shape, const float* const* in, const float* out_gradient, float* sums,
                      ReadAhead& ahead) {
  const ChannelParts channels(shape.out_channels);
  const Parts taps(shape.kernel_z * shape.in_channels, channels.tile_rows);
  const int64_t gradient_bytes = shape.out_z * shape.out_channels * kBlockEvents * static_cast<int64_t>(sizeof(float));
  const int64_t run = larger(1, kGradientRunBytes / gradient_bytes);
  const int64_t tiles = shape.kernel_x * shape.kernel_y * (shape.out_y + run - 1) / run * channels.count() * taps.count;
  const int64_t lines = lines_a_step(ahead, tiles);
  GradientTile tile{};
  tile.shape = &shape;
  // kx runs slowest: the sums of one kx stay in the L2 cache during the whole plane.
  for (int64_t kx = 0; kx < shape.kernel_x; ++kx) {
    if (in[kx] == nullptr) continue;
    for (int64_t y = 0; y < shape.out_y; y += run) {
      for (int64_t ky = 0; ky < shape.kernel_y; ++ky) {
        const int64_t begin = larger(y, shape.offset_y - ky);
        const int64_t end = smaller(smaller(y + run, shape.out_y), shape.in_y + shape.offset_y - ky);
        if (begin >= end) continue;
        tile.rows = end - begin;
        tile.in = in[kx] + (begin + ky - shape.offset_y) * shape.in_row();
        for (int64_t part = 0; part < channels.count(); ++part) {
          const int64_t c = channels.begin(part), width = channels.size(part);
          if (width == 0) continue;
          tile.gradient = out_gradient + begin * shape.out_row + c * shape.out_line;
          for (int64_t i = 0; i < taps.count; ++i) {
            tile.tap = taps.begin(i);
            tile.sums =
                sums + (((kx * shape.kernel_y + ky) * taps.total + tile.tap) * shape.out_channels + c) * kBlockEvents;
            kGradientTiles.entries[width][taps.size(i)](tile);
            read_ahead(ahead, lines);
          }
        }
      }
    }
  }
}

void pack_phase(const PhaseShape& shape, const float* weights, float* packed) {
  const ChannelParts parts(shape.in_channels);
  const int64_t tap = shape.in_channels * shape.out_channels;
  for (int64_t part = 0; part < parts.count(); ++part) {
    for (int64_t i = 0; i < shape.taps_x * shape.taps_y * shape.taps_z; ++i) {
      for (int64_t co = 0; co < shape.out_channels; ++co) {
        for (int64_t c = parts.begin(part); c < parts.end(part); ++c)
          *packed++ = weights[i * tap + c * shape.out_channels + co];
      }
    }
  }
}

void phase_gradient(const PhaseShape& shape, const float* out_gradient, const float* packed, float* image,
                    ReadAhead& ahead) {
  const ChannelParts channels(shape.in_channels);
  const Parts cells(shape.in_cells, channels.tile_rows);
  const int64_t image_rows = shape.rows + shape.taps_y - 1,
                taps = shape.taps_x * shape.taps_y * shape.taps_z;  // steps a part of the channels, cells and a row
  const int64_t lines = lines_a_step(ahead, channels.count() * cells.count * taps * shape.rows);
  // x runs fastest, then z: what a tile reads is still in the L1 cache for the next plane.
  for (int64_t part = 0; part < channels.count(); ++part) {
    const int64_t c = channels.begin(part), width = channels.size(part);
    if (width == 0) continue;
    const float* const weights = packed + c * taps * shape.out_channels;
    PhaseTile tile{&shape, out_gradient, nullptr, nullptr, 0, 0, &ahead, lines};
    for (tile.y = 0; tile.y < image_rows; ++tile.y) {
      for (int64_t i = 0; i < cells.count; ++i) {
        tile.z = cells.begin(i);
        for (int64_t tx = 0; tx < shape.taps_x; ++tx) {
          tile.weights = weights + tx * shape.taps_y * shape.taps_z * shape.out_channels * width;
          tile.image =
              image + tx * shape.image_plane + tile.y * shape.image_row + c * shape.image_line + tile.z * kBlockEvents;
          kPhaseTiles.entries[width][cells.size(i)](tile);
        }
      }
    }
  }
}

void block(const float* source, int64_t stride, int64_t events, int64_t count, float* blocked) {
  for (int64_t i = 0; i < count && count >= kBlockEvents; i += kBlockEvents) {
    const int64_t at = smaller(i, count - kBlockEvents);
    block_16(source + at, stride, events, blocked + at * kBlockEvents);
  }
  for (int64_t i = 0; i < count && count < kBlockEvents; ++i) {
    for (int64_t event = 0; event < kBlockEvents; ++event)
      blocked[i * kBlockEvents + event] = event < events ? source[event * stride + i] : 0.0F;
  }
}

void unblock(const float* blocked, int64_t stride, int64_t events, int64_t count, float* target) {
  for (int64_t i = 0; i < count && count >= kBlockEvents; i += kBlockEvents) {
    const int64_t at = smaller(i, count - kBlockEvents);
    unblock_16(blocked + at * kBlockEvents, stride, events, target + at);
  }
  for (int64_t event = 0; event < events && count < kBlockEvents; ++event) {
    for (int64_t i = 0; i < count; ++i) target[event * stride + i] = blocked[i * kBlockEvents + event];
  }
}

constexpr PlaneKernels kKernels{pack_weights,   forward,        backward_weights, pack_phase,
                                phase_gradient, narrow_forward, narrow_weights};

}  // namespace
}  // namespace linac::kernels
