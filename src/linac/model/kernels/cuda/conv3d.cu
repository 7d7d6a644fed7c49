#include "linac/model/kernels/cuda/conv3d.h"

#include "linac/model/kernels/cuda/check.cuh"
#include "linac/model/kernels/cuda/conv3d_tiles.cuh"
#include "linac/model/kernels/cuda/rows.cuh"

namespace linac::kernels::cuda {
namespace {

struct Cell {
  int x, y, z;
};

// Where the image at (x, y, z, channel) lies, or null outside.
__device__ __forceinline__ const float* at(const float* image, const int (&extent)[3], int channels, const Cell& cell,
                                           int channel) {
  const bool inside = cell.x >= 0 && cell.x < extent[0] && cell.y >= 0 && cell.y < extent[1] && cell.z >= 0 &&
                      cell.z < extent[2] && channel < channels;
  return inside
             ? image + (static_cast<int64_t>((cell.x * extent[1] + cell.y) * extent[2] + cell.z) * channels + channel)
             : nullptr;
}

// Input channels c0 ... of a tile's patch; `first` is the input cell of its corner. Global memory is read with channels
// fastest, as it lies; a cell's channels are `channel_step` apart in shared memory, its cells `cell_step`.
__device__ void load_patch(const Geometry& g, const Tiles& tiles, const float* image, const Cell& first, int c0,
                           int channel_step, int cell_step, float* patch) {
  for (int i = static_cast<int>(threadIdx.x); i < tiles.patch * tiles.channels; i += static_cast<int>(blockDim.x)) {
    const int channel = i % tiles.channels, cell = i / tiles.channels;
    const Cell from{first.x, first.y + cell / tiles.width, first.z + cell % tiles.width};
    const float* value = at(image, g.in, g.in_channels, from, c0 + channel);
    patch[channel * channel_step + cell * cell_step] = value != nullptr ? *value : 0.0F;
  }
}

// [ky][kz][channel][out] of one kx; zeros beyond the channels there are.
template <int kOut>
__device__ void load_weights(const Geometry& g, int channels, const float* weights, int kx, int c0, int o0, float* to) {
  const int plane = g.kernel[1] * g.kernel[2];
  for (int i = static_cast<int>(threadIdx.x); i < plane * channels * kOut; i += static_cast<int>(blockDim.x)) {
    const int o = i % kOut, channel = i / kOut % channels, tap = i / kOut / channels;
    const bool inside = c0 + channel < g.in_channels && o0 + o < g.out_channels;
    to[i] = inside ? weights[((kx * plane + tap) * g.in_channels + c0 + channel) * g.out_channels + o0 + o] : 0.0F;
  }
}

// One tile of one event and group of kOut output channels. The weights come first in shared memory: they are loaded
// four at a time.
template <int kOut>
__global__ void __launch_bounds__(kThreads)
    forward_kernel(Geometry g, ForwardTiles tiles, const float* in, const float* weights, const float* bias,
                   float slope, float* out) {
  extern __shared__ float4 shared[];
  float* const tile_weights = reinterpret_cast<float*>(shared);
  float* const patch = tile_weights + g.kernel[1] * g.kernel[2] * tiles.channels * kOut;

  int block = static_cast<int>(blockIdx.x);
  const int o0 = block % tiles.groups * kOut;
  block /= tiles.groups;
  const int z0 = block % tiles.cell_tiles * tiles.cells;
  block /= tiles.cell_tiles;
  const int y0 = block % tiles.row_tiles * tiles.rows;
  block /= tiles.row_tiles;
  const int x = block % g.out[0];
  const int64_t event = block / g.out[0];
  const float* const image = in + event * g.in[0] * g.in[1] * g.in[2] * g.in_channels;

  int offset[kCells];  // of the thread's cells in a patch; cells beyond the tile compute along and are not stored
  float sum[kCells][kOut] = {};
#pragma unroll
  for (int i = 0; i < kCells; ++i) {
    const int cell = static_cast<int>(threadIdx.x) + i * kThreads;
    offset[i] = cell < tiles.rows * tiles.cells ? cell / tiles.cells * tiles.width + cell % tiles.cells : 0;
  }

  for (int kx = 0; kx < g.kernel[0]; ++kx) {
    const int in_x = x + kx - g.before[0];
    if (in_x < 0 || in_x >= g.in[0]) continue;  // the same for all threads
    for (int c0 = 0; c0 < g.in_channels; c0 += tiles.channels) {
      __syncthreads();  // the tile before has been used
      load_weights<kOut>(g, tiles.channels, weights, kx, c0, o0, tile_weights);
      load_patch(g, tiles, image, {in_x, y0 - g.before[1], z0 - g.before[2]}, c0, tiles.patch, 1, patch);
      __syncthreads();
      const float* row = tile_weights;
      for (int ky = 0; ky < g.kernel[1]; ++ky) {
        for (int kz = 0; kz < g.kernel[2]; ++kz) {
          const float* plane = patch + ky * tiles.width + kz;
          for (int c = 0; c < tiles.channels; ++c, row += kOut, plane += tiles.patch) {
            float weight[kOut];
            load_row(row, weight);
#pragma unroll
            for (int i = 0; i < kCells; ++i) {
              const float value = plane[offset[i]];
#pragma unroll
              for (int o = 0; o < kOut; ++o) sum[i][o] = fmaf(value, weight[o], sum[i][o]);
            }
          }
        }
      }
    }
  }

#pragma unroll
  for (int i = 0; i < kCells; ++i) {
    const int cell = static_cast<int>(threadIdx.x) + i * kThreads;
    const int y = y0 + cell / tiles.cells, z = z0 + cell % tiles.cells;
    if (cell >= tiles.rows * tiles.cells || y >= g.out[1] || z >= g.out[2]) continue;
    float* const to = out + (((event * g.out[0] + x) * g.out[1] + y) * g.out[2] + z) * g.out_channels;
#pragma unroll
    for (int o = 0; o < kOut; ++o) {
      if (o0 + o >= g.out_channels) break;
      to[o0 + o] = activated(sum[i][o] + (bias != nullptr ? bias[o0 + o] : 0.0F), slope);
    }
  }
}

// The kernel mirrored, with in and out channels exchanged.
__global__ void turn_kernel(int taps, int in_channels, int out_channels, const float* weights, float* turned) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= taps * in_channels * out_channels) return;
  const int o = i % out_channels, c = i / out_channels % in_channels, tap = i / out_channels / in_channels;
  turned[((taps - 1 - tap) * out_channels + o) * in_channels + c] = weights[i];
}

// [row][cell][out] of a tile of the output's gradient; zeros beyond the image.
template <int kOut>
__device__ void load_gradient(const Geometry& g, const Tiles& tiles, const float* gradient, const Cell& first, int o0,
                              float* to) {
  for (int i = static_cast<int>(threadIdx.x); i < tiles.rows * tiles.cells * kOut; i += static_cast<int>(blockDim.x)) {
    const int o = i % kOut, cell = i / kOut;
    const Cell from{first.x, first.y + cell / tiles.cells, first.z + cell % tiles.cells};
    const float* value = at(gradient, g.out, g.out_channels, from, o0 + o);
    to[i] = value != nullptr ? *value : 0.0F;
  }
}

// One slice of the planes of all events, one kx, one group of input and of output channels: partial sums of their
// weights, [slice][weight]. A thread has kTaps taps (ky, kz, input channel) and every `lanes`-th cell.
template <int kOut>
__global__ void __launch_bounds__(kWeightThreads)
    weight_gradient_kernel(Geometry g, WeightTiles tiles, int64_t events, const float* in, const float* gradient,
                           float* partial) {
  extern __shared__ float4 shared[];
  float* const tile_gradient = reinterpret_cast<float*>(shared);
  float* const patch = tile_gradient + tiles.rows * tiles.cells * kOut;
  int* const cell_offset = reinterpret_cast<int*>(patch + tiles.patch * tiles.channels);

  int block = static_cast<int>(blockIdx.x);
  const int o0 = block % tiles.groups * kOut;
  block /= tiles.groups;
  const int c0 = block % tiles.in_groups * tiles.channels;
  block /= tiles.in_groups;
  const int kx = block % g.kernel[0], slice = block / g.kernel[0];

  const int tap_thread = static_cast<int>(threadIdx.x) % tiles.tap_threads,
            lane = static_cast<int>(threadIdx.x) / tiles.tap_threads;
  const int taps = g.kernel[1] * g.kernel[2] * tiles.channels, tile_cells = tiles.rows * tiles.cells;
  int offset[kTaps];
  float sum[kTaps][kOut] = {};
#pragma unroll
  for (int i = 0; i < kTaps; ++i) {
    const int tap = tap_thread + i * tiles.tap_threads;
    const int c = tap % tiles.channels, kz = tap / tiles.channels % g.kernel[2],
              ky = tap / tiles.channels / g.kernel[2];
    offset[i] = tap < taps ? (ky * tiles.width + kz) * tiles.channels + c : 0;
  }
  for (int i = static_cast<int>(threadIdx.x); i < tile_cells; i += static_cast<int>(blockDim.x))
    cell_offset[i] = (i / tiles.cells * tiles.width + i % tiles.cells) * tiles.channels;

  const int64_t planes = events * g.out[0];
  for (int64_t plane = planes * slice / tiles.slices; plane < planes * (slice + 1) / tiles.slices; ++plane) {
    const int64_t event = plane / g.out[0];
    const int x = static_cast<int>(plane % g.out[0]), in_x = x + kx - g.before[0];
    if (in_x < 0 || in_x >= g.in[0]) continue;  // the same for all threads
    const float* const image = in + event * g.in[0] * g.in[1] * g.in[2] * g.in_channels;
    const float* const event_gradient = gradient + event * g.out[0] * g.out[1] * g.out[2] * g.out_channels;
    for (int y0 = 0; y0 < g.out[1]; y0 += tiles.rows) {
      for (int z0 = 0; z0 < g.out[2]; z0 += tiles.cells) {
        __syncthreads();
        load_gradient<kOut>(g, tiles, event_gradient, {x, y0, z0}, o0, tile_gradient);
        load_patch(g, tiles, image, {in_x, y0 - g.before[1], z0 - g.before[2]}, c0, 1, tiles.channels, patch);
        __syncthreads();
        if (lane >= tiles.lanes) continue;
        for (int cell = lane; cell < tile_cells; cell += tiles.lanes) {
          float row[kOut];
          load_row(tile_gradient + cell * kOut, row);
          const float* const corner = patch + cell_offset[cell];
#pragma unroll
          for (int i = 0; i < kTaps; ++i) {
            const float value = corner[offset[i]];
#pragma unroll
            for (int o = 0; o < kOut; ++o) sum[i][o] = fmaf(value, row[o], sum[i][o]);
          }
        }
      }
    }
  }

  // The lanes' sums, in their order: the first lane adds up what all of them left in shared memory.
  float* const lane_sums = tile_gradient;
  float* const to =
      partial + static_cast<int64_t>(slice) * g.kernel[0] * g.kernel[1] * g.kernel[2] * g.in_channels * g.out_channels;
#pragma unroll
  for (int i = 0; i < kTaps; ++i) {
    __syncthreads();
#pragma unroll
    for (int o = 0; o < kOut; ++o) lane_sums[threadIdx.x * kOut + o] = sum[i][o];
    __syncthreads();
    const int tap = tap_thread + i * tiles.tap_threads, c = c0 + tap % tiles.channels;
    if (lane != 0 || tap >= taps || c >= g.in_channels) continue;
    const int kyz = tap / tiles.channels;
    const int64_t first = (static_cast<int64_t>(kx * g.kernel[1] * g.kernel[2] + kyz) * g.in_channels + c);
    for (int o = 0; o < kOut && o0 + o < g.out_channels; ++o) {
      float total = sum[i][o];
      for (int other = 1; other < tiles.lanes; ++other)
        total += lane_sums[(other * tiles.tap_threads + tap_thread) * kOut + o];
      to[first * g.out_channels + o0 + o] = total;
    }
  }
}

// The second stage: the slices of a weight in their order, in double.
__global__ void add_slices_kernel(int64_t weights, int slices, const float* partial, float* total) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= weights) return;
  double sum = 0;
  for (int slice = 0; slice < slices; ++slice) sum += static_cast<double>(partial[slice * weights + i]);
  total[i] = static_cast<float>(sum);
}

// Calls work.template operator()<kOut>() with the group of output channels that wastes least.
template <class Work>
auto by_out_group(int64_t channels, const Work& work) {
  if (channels == 1) return work.template operator()<1>();
  if (channels <= 4) return work.template operator()<4>();
  if (channels <= 6) return work.template operator()<6>();
  if (channels <= 8 || (channels > 16 && channels <= 24)) return work.template operator()<8>();
  return work.template operator()<16>();
}

// The convolution that takes the gradient back to the data.
Conv3dShape turned(const Conv3dShape& shape) {
  Conv3dShape turned{shape.out(), shape.out_channels, shape.kernel, shape.in_channels, {}, {}};
  for (size_t i = 0; i < 3; ++i) {
    turned.before[i] = shape.kernel[i] - 1 - shape.before[i];  // negative: the image's edge saw padding alone
    turned.behind[i] = shape.kernel[i] - 1 - shape.behind[i];
  }
  return turned;
}

bool forward_fits(const Conv3dShape& shape) {
  return by_out_group(shape.out_channels, [&]<int kOut>() { return ForwardTiles(Geometry(shape), kOut).fit(); });
}

WeightTiles weight_tiles(const Conv3dShape& shape, int64_t events) {
  return by_out_group(shape.out_channels, [&]<int kOut>() { return WeightTiles(Geometry(shape), kOut, events); });
}

void run_forward(const Conv3dShape& shape, int64_t events, const float* in, const float* weights, const float* bias,
                 float slope, float* out, void* stream) {
  const Geometry g(shape);
  by_out_group(shape.out_channels, [&]<int kOut>() {
    const ForwardTiles tiles(g, kOut);
    const int64_t blocks = events * g.out[0] * tiles.row_tiles * tiles.cell_tiles * tiles.groups;
    LINAC_CHECK(tiles.fit() && blocks <= INT32_MAX);
    forward_kernel<kOut><<<static_cast<unsigned>(blocks), kThreads, static_cast<size_t>(tiles.floats) * sizeof(float),
                           stream_of(stream)>>>(g, tiles, in, weights, bias, slope, out);
    check_launch("convolution");
  });
}

}  // namespace

bool conv3d_possible(const Conv3dShape& shape) {
  return shape.in_channels <= kConvChannelsMax && shape.out_channels <= kConvChannelsMax &&
         shape.in_floats() <= INT32_MAX && shape.out_floats() <= INT32_MAX && forward_fits(shape) &&
         forward_fits(turned(shape)) && weight_tiles(shape, 1).fit();
}

void conv3d_forward(const Conv3dShape& shape, int64_t events, const float* in, const float* weights, const float* bias,
                    float slope, float* out, void* stream) {
  shape.check();
  run_forward(shape, events, in, weights, bias, slope, out, stream);
}

int64_t conv3d_workspace(const Conv3dShape& shape, int64_t events) {
  return shape.weights() * weight_tiles(shape, events).slices;
}

void conv3d_backward_data(const Conv3dShape& shape, int64_t events, const float* out_gradient, const float* weights,
                          float* in_gradient, float* workspace, void* stream) {
  shape.check();
  constexpr int kTurnThreads = 256;
  turn_kernel<<<static_cast<unsigned>(divided(shape.weights(), kTurnThreads)), kTurnThreads, 0, stream_of(stream)>>>(
      static_cast<int>(cells(shape.kernel)), static_cast<int>(shape.in_channels), static_cast<int>(shape.out_channels),
      weights, workspace);
  check_launch("turning a kernel");
  run_forward(turned(shape), events, out_gradient, workspace, nullptr, 1, in_gradient, stream);
}

void conv3d_backward_weights(const Conv3dShape& shape, int64_t events, const float* in, const float* out_gradient,
                             float* weight_gradient, float* workspace, void* stream) {
  shape.check();
  const Geometry g(shape);
  by_out_group(shape.out_channels, [&]<int kOut>() {
    const WeightTiles tiles(g, kOut, events);
    LINAC_CHECK(tiles.fit());
    const int blocks = tiles.slices * g.kernel[0] * tiles.in_groups * tiles.groups;
    weight_gradient_kernel<kOut><<<static_cast<unsigned>(blocks), static_cast<unsigned>(tiles.threads()),
                                   static_cast<size_t>(tiles.floats) * sizeof(float), stream_of(stream)>>>(
        g, tiles, events, in, out_gradient, workspace);
    check_launch("gradient of weights");
    constexpr int kAddThreads = 128;
    add_slices_kernel<<<static_cast<unsigned>(divided(shape.weights(), kAddThreads)), kAddThreads, 0,
                        stream_of(stream)>>>(shape.weights(), tiles.slices, workspace, weight_gradient);
    check_launch("sum of weight gradients");
  });
}

}  // namespace linac::kernels::cuda
