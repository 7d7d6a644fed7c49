#include "linac/model/kernels/cuda/upsample_conv.h"

#include <algorithm>

#include "linac/model/kernels/cuda/check.cuh"
#include "linac/model/kernels/cuda/rows.cuh"

namespace linac::kernels::cuda {
namespace {

constexpr int kPairsMax = 64;               // pairs (phase, tap) of an axis
constexpr int kThreads = 128, kDepth = 16;  // of a tiled product: threads of a block, terms at a time
constexpr int kTileColumns = 8, kTileRows = 128;
constexpr int kColumns = 4, kRows = 2;  // of a thread
static_assert(kTileRows / kRows * (kTileColumns / kColumns) == kThreads);

// One axis, as PhaseAxis has it, with its pairs listed: pair j is tap tap_of[j] of phase phase_of[j].
struct Axis {
  int in, up, kernel, out, pairs;
  int first_pair[kPairsMax];  // of a phase
  unsigned char phase_of[kPairsMax], tap_of[kPairsMax];

  __host__ __device__ int count(int phase) const { return (out - phase + up - 1) / up; }
  __host__ __device__ int taps(int phase) const { return (phase + kernel - 1) / up + 1; }
};

struct Problem {
  Axis axis[3];
  int events, in_channels, out_channels;

  Problem(const UpsampleShape& shape, int64_t events)
      : events(static_cast<int>(events)),
        in_channels(static_cast<int>(shape.in_channels)),
        out_channels(static_cast<int>(shape.out_channels)) {
    for (size_t i = 0; i < 3; ++i) {
      Axis& a = axis[i];
      a.in = static_cast<int>(shape.in[i]), a.up = static_cast<int>(shape.up[i]);
      a.kernel = static_cast<int>(shape.kernel[i]), a.out = a.in * a.up - a.kernel + 1, a.pairs = 0;
      for (int phase = 0; phase < a.up; ++phase) {
        a.first_pair[phase] = a.pairs;
        for (int tap = 0; tap < a.taps(phase); ++tap, ++a.pairs) {
          a.phase_of[a.pairs] = static_cast<unsigned char>(phase);
          a.tap_of[a.pairs] = static_cast<unsigned char>(tap);
        }
      }
    }
  }
  int phases() const { return axis[0].up * axis[1].up * axis[2].up; }
  /// Of the phase with most output cells, the first one.
  int64_t phase_cells() const {
    return static_cast<int64_t>(events) * axis[0].count(0) * axis[1].count(0) * axis[2].count(0);
  }
  int64_t in_cells() const { return static_cast<int64_t>(events) * axis[0].in * axis[1].in * axis[2].in; }
  int64_t folded() const {
    return static_cast<int64_t>(axis[0].pairs) * axis[1].pairs * axis[2].pairs * in_channels * out_channels;
  }
};

// A cell (event, x, y, z) of an image.
struct Cell {
  int event, x, y, z;

  // Number `i` of a dense image of these extents.
  __device__ static Cell of(int64_t i, int x_extent, int y_extent, int z_extent) {
    Cell cell{};
    cell.z = static_cast<int>(i % z_extent), i /= z_extent;
    cell.y = static_cast<int>(i % y_extent), i /= y_extent;
    cell.x = static_cast<int>(i % x_extent);
    cell.event = static_cast<int>(i / x_extent);
    return cell;
  }
  __device__ int64_t index(int x_extent, int y_extent, int z_extent) const {
    return ((static_cast<int64_t>(event) * x_extent + x) * y_extent + y) * z_extent + z;
  }
};

// One phase and its extents.
struct Phase {
  int p[3], count[3], taps[3];

  __device__ Phase(const Problem& problem, int number) {
    p[2] = number % problem.axis[2].up, number /= problem.axis[2].up;
    p[1] = number % problem.axis[1].up;
    p[0] = number / problem.axis[1].up;
    for (int i = 0; i < 3; ++i) count[i] = problem.axis[i].count(p[i]), taps[i] = problem.axis[i].taps(p[i]);
  }
  __device__ Cell cell(int64_t i) const { return Cell::of(i, count[0], count[1], count[2]); }
  __device__ int cells(int events) const { return events * count[0] * count[1] * count[2]; }
  __device__ int tap_count() const { return taps[0] * taps[1] * taps[2]; }
  // Where the image up-sampled has the phase's cell q.
  __device__ int64_t out_cell(const Problem& problem, const Cell& q) const {
    const Axis *x = &problem.axis[0], *y = &problem.axis[1], *z = &problem.axis[2];
    return Cell{q.event, q.x * x->up + p[0], q.y * y->up + p[1], q.z * z->up + p[2]}.index(x->out, y->out, z->out);
  }
  // The small image's cell that tap number `tap` of the phase's cell q reads.
  __device__ int64_t in_cell(const Problem& problem, const Cell& q, int tap) const {
    const Cell from{q.event, q.x + tap / (taps[1] * taps[2]), q.y + tap / taps[2] % taps[1], q.z + tap % taps[2]};
    return from.index(problem.axis[0].in, problem.axis[1].in, problem.axis[2].in);
  }
  // The pair of pairs of pairs that tap number `tap` is, in the folded kernel.
  __device__ int64_t pair(const Problem& problem, int tap) const {
    const int x = problem.axis[0].first_pair[p[0]] + tap / (taps[1] * taps[2]);
    const int y = problem.axis[1].first_pair[p[1]] + tap / taps[2] % taps[1];
    const int z = problem.axis[2].first_pair[p[2]] + tap % taps[2];
    return (static_cast<int64_t>(x) * problem.axis[1].pairs + y) * problem.axis[2].pairs + z;
  }
};

// The taps of an axis that fall into one pair: [first, last).
struct TapRange {
  int first, last;
  __device__ TapRange(const Axis& axis, int pair)
      : first(max(0, axis.tap_of[pair] * axis.up - axis.phase_of[pair])),
        last(min(axis.kernel, (axis.tap_of[pair] + 1) * axis.up - axis.phase_of[pair])) {}
};

// [pair x][pair y][pair z][in][out]: the sums of the taps that fall into one input cell.
__global__ void fold_kernel(Problem problem, const float* weights, float* folded) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channels = problem.in_channels * problem.out_channels;
  const Axis *x = &problem.axis[0], *y = &problem.axis[1], *z = &problem.axis[2];
  if (i >= static_cast<int64_t>(x->pairs) * y->pairs * z->pairs * channels) return;
  const Cell pair = Cell::of(i / channels, x->pairs, y->pairs, z->pairs);
  const TapRange kx(*x, pair.x), ky(*y, pair.y), kz(*z, pair.z);
  float sum = 0;
  for (int tx = kx.first; tx < kx.last; ++tx)
    for (int ty = ky.first; ty < ky.last; ++ty)
      for (int tz = kz.first; tz < kz.last; ++tz)
        sum += weights[static_cast<int64_t>((tx * y->kernel + ty) * z->kernel + tz) * channels + i % channels];
  folded[i] = sum;
}

// The gradient's way back: a tap is part of one sum in each phase.
__global__ void unfold_kernel(Problem problem, const float* folded, float* weight_gradient) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const int channels = problem.in_channels * problem.out_channels;
  const Axis *x = &problem.axis[0], *y = &problem.axis[1], *z = &problem.axis[2];
  if (i >= static_cast<int64_t>(x->kernel) * y->kernel * z->kernel * channels) return;
  const Cell tap = Cell::of(i / channels, x->kernel, y->kernel, z->kernel);
  float sum = 0;
  for (int px = 0; px < x->up; ++px) {
    for (int py = 0; py < y->up; ++py) {
      for (int pz = 0; pz < z->up; ++pz) {
        const Cell pair{0, x->first_pair[px] + (px + tap.x) / x->up, y->first_pair[py] + (py + tap.y) / y->up,
                        z->first_pair[pz] + (pz + tap.z) / z->up};
        sum += folded[pair.index(x->pairs, y->pairs, z->pairs) * channels + i % channels];
      }
    }
  }
  weight_gradient[i] = sum;
}

// The three products C(m, n) = sum over k of A(m, k) B(k, n), for the tiled kernel below. A thread of the kernel asks
// for few rows m but many k: what follows from m alone is kept in a Row.

// Of one phase: m an output cell, k (tap, input channel), n an output channel.
struct ForwardProduct {
  const float *in, *folded, *bias;
  float slope;
  float* out;

  struct Row {
    Cell cell;
  };
  struct View {
    const ForwardProduct& f;
    const Problem& problem;
    Phase phase;

    __device__ View(const ForwardProduct& f, const Problem& problem, int number)
        : f(f), problem(problem), phase(problem, number) {}
    __device__ int rows() const { return phase.cells(problem.events); }
    __device__ int columns() const { return problem.out_channels; }
    __device__ int depth() const { return phase.tap_count() * problem.in_channels; }
    __device__ Row row(int m) const { return {phase.cell(m)}; }
    __device__ float a(const Row& row, int k) const {
      return f.in[phase.in_cell(problem, row.cell, k / problem.in_channels) * problem.in_channels +
                  k % problem.in_channels];
    }
    __device__ float b(int k, int n) const {
      const int64_t pair = phase.pair(problem, k / problem.in_channels);
      return f.folded[(pair * problem.in_channels + k % problem.in_channels) * problem.out_channels + n];
    }
    __device__ void store(int m, int n, float value) const {
      f.out[phase.out_cell(problem, phase.cell(m)) * problem.out_channels + n] =
          activated(value + (f.bias != nullptr ? f.bias[n] : 0.0F), f.slope);
    }
  };
};

// m an input cell, k (pair of each axis, output channel), n an input channel.
struct DataProduct {
  const float *gradient, *folded;
  float* in_gradient;

  struct Row {
    Cell cell;
  };
  struct View {
    const DataProduct& f;
    const Problem& problem;

    __device__ View(const DataProduct& f, const Problem& problem, int) : f(f), problem(problem) {}
    __device__ int rows() const {
      return problem.events * problem.axis[0].in * problem.axis[1].in * problem.axis[2].in;
    }
    __device__ int columns() const { return problem.in_channels; }
    __device__ int depth() const {
      return problem.axis[0].pairs * problem.axis[1].pairs * problem.axis[2].pairs * problem.out_channels;
    }
    __device__ Row row(int m) const {
      return {Cell::of(m, problem.axis[0].in, problem.axis[1].in, problem.axis[2].in)};
    }
    // The output cell that reads input cell i as this pair, along one axis; negative: there is none.
    __device__ static int reader(const Axis& axis, int i, int pair) {
      const int q = i - axis.tap_of[pair], phase = axis.phase_of[pair];
      return q >= 0 && q < axis.count(phase) ? q * axis.up + phase : -1;
    }
    __device__ float a(const Row& row, int k) const {
      const Axis *x = &problem.axis[0], *y = &problem.axis[1], *z = &problem.axis[2];
      const Cell pair = Cell::of(k / problem.out_channels, x->pairs, y->pairs, z->pairs);
      const Cell from{row.cell.event, reader(*x, row.cell.x, pair.x), reader(*y, row.cell.y, pair.y),
                      reader(*z, row.cell.z, pair.z)};
      if (from.x < 0 || from.y < 0 || from.z < 0) return 0;
      return f.gradient[from.index(x->out, y->out, z->out) * problem.out_channels + k % problem.out_channels];
    }
    __device__ float b(int k, int n) const {
      const int64_t pair = k / problem.out_channels;
      return f.folded[(pair * problem.in_channels + n) * problem.out_channels + k % problem.out_channels];
    }
    __device__ void store(int m, int n, float value) const {
      f.in_gradient[static_cast<int64_t>(m) * problem.in_channels + n] = value;
    }
  };
};

// Of one phase: m (tap, input channel), k an output cell, n an output channel.
struct WeightProduct {
  const float *in, *gradient;
  float* folded;

  struct Row {
    int tap, channel;
  };
  struct View {
    const WeightProduct& f;
    const Problem& problem;
    Phase phase;

    __device__ View(const WeightProduct& f, const Problem& problem, int number)
        : f(f), problem(problem), phase(problem, number) {}
    __device__ int rows() const { return phase.tap_count() * problem.in_channels; }
    __device__ int columns() const { return problem.out_channels; }
    __device__ int depth() const { return phase.cells(problem.events); }
    __device__ Row row(int m) const { return {m / problem.in_channels, m % problem.in_channels}; }
    __device__ float a(const Row& row, int k) const {
      return f.in[phase.in_cell(problem, phase.cell(k), row.tap) * problem.in_channels + row.channel];
    }
    __device__ float b(int k, int n) const {
      return f.gradient[phase.out_cell(problem, phase.cell(k)) * problem.out_channels + n];
    }
    __device__ void store(int m, int n, float value) const {
      const Row at = row(m);
      f.folded[(phase.pair(problem, at.tap) * problem.in_channels + at.channel) * problem.out_channels + n] = value;
    }
  };
};

// A tile of kTileRows x kTileColumns of product number blockIdx.z; kDepth terms at a time in shared memory, kRows x
// kColumns results in the registers of a thread. All terms of a result are added by one thread, in their order.
template <class Product>
__global__ void __launch_bounds__(kThreads) product_kernel(Problem problem, Product product) {
  __shared__ float a[kDepth][kTileRows];
  __shared__ __align__(16) float b[kDepth][kTileColumns];
  const typename Product::View view(product, problem, static_cast<int>(blockIdx.z));
  const int first_row = static_cast<int>(blockIdx.x) * kTileRows,
            first_column = static_cast<int>(blockIdx.y) * kTileColumns;
  const int rows = view.rows(), columns = view.columns(), depth = view.depth();
  if (first_row >= rows) return;  // the same for all threads

  // Loading: a thread has one row of A, and one element of B (kDepth * kTileColumns = kThreads).
  static_assert(kTileRows == kThreads && kDepth * kTileColumns == kThreads);
  const int thread = static_cast<int>(threadIdx.x), load_row_number = first_row + thread;
  const typename Product::Row loaded = view.row(min(load_row_number, rows - 1));
  const int b_depth = thread / kTileColumns, b_column = first_column + thread % kTileColumns;
  // Computing: rows `row` and row + kTileRows / kRows, columns `column` ... column + kColumns - 1.
  constexpr int kRowStep = kTileRows / kRows;
  const int row = thread % kRowStep, column = thread / kRowStep * kColumns;
  float sum[kRows][kColumns] = {};
  for (int k0 = 0; k0 < depth; k0 += kDepth) {
    __syncthreads();
    for (int k = 0; k < kDepth; ++k)
      a[k][thread] = k0 + k < depth && load_row_number < rows ? view.a(loaded, k0 + k) : 0.0F;
    b[b_depth][thread % kTileColumns] =
        k0 + b_depth < depth && b_column < columns ? view.b(k0 + b_depth, b_column) : 0.0F;
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      float right[kColumns];
      load_row(&b[k][column], right);
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        const float left = a[k][row + i * kRowStep];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) sum[i][j] = fmaf(left, right[j], sum[i][j]);
      }
    }
  }
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) {
      const int m = first_row + row + i * kRowStep, n = first_column + column + j;
      if (m < rows && n < columns) view.store(m, n, sum[i][j]);
    }
  }
}

template <class Product>
void run_product(const Problem& problem, const Product& product, int64_t rows, int columns, int count, void* stream) {
  const dim3 grid(static_cast<unsigned>(divided(rows, kTileRows)),
                  static_cast<unsigned>(divided(columns, kTileColumns)), static_cast<unsigned>(count));
  product_kernel<<<grid, kThreads, 0, stream_of(stream)>>>(problem, product);
  check_launch("folded convolution");
}

constexpr int kFoldThreads = 256;

void fold(const Problem& problem, const float* weights, float* folded, void* stream) {
  fold_kernel<<<static_cast<unsigned>(divided(problem.folded(), kFoldThreads)), kFoldThreads, 0, stream_of(stream)>>>(
      problem, weights, folded);
  check_launch("folding a kernel");
}

Problem checked(const UpsampleShape& shape, int64_t events) {
  LINAC_CHECK(upsample_conv3d_possible(shape));
  const Problem problem(shape, events);
  LINAC_CHECK(problem.phase_cells() <= INT32_MAX && problem.in_cells() <= INT32_MAX);
  return problem;
}

}  // namespace

bool upsample_conv3d_possible(const UpsampleShape& shape) {
  for (size_t i = 0; i < 3; ++i) {
    const PhaseAxis axis{shape.in[i], shape.up[i], shape.kernel[i]};
    if (axis.out() <= 0 || axis.up > kPairsMax || axis.pairs(axis.up) > kPairsMax) return false;
  }
  constexpr int64_t kPhasesMax = 65535;  // what a grid holds along z
  return cells(shape.up) <= kPhasesMax && Problem(shape, 1).folded() <= INT32_MAX &&
         cells(shape.out()) * shape.out_channels <= INT32_MAX;
}

int64_t upsample_conv3d_workspace(const UpsampleShape& shape) {
  return Problem(shape, 1).folded();
}

void upsample_conv3d_forward(const UpsampleShape& shape, int64_t events, const float* in, const float* weights,
                             const float* bias, float slope, float* out, float* workspace, void* stream) {
  const Problem problem = checked(shape, events);
  fold(problem, weights, workspace, stream);
  run_product(problem, ForwardProduct{in, workspace, bias, slope, out}, problem.phase_cells(), problem.out_channels,
              problem.phases(), stream);
}

void upsample_conv3d_backward_data(const UpsampleShape& shape, int64_t events, const float* out_gradient,
                                   const float* weights, float* in_gradient, float* workspace, void* stream) {
  const Problem problem = checked(shape, events);
  fold(problem, weights, workspace, stream);
  run_product(problem, DataProduct{out_gradient, workspace, in_gradient}, problem.in_cells(), problem.in_channels, 1,
              stream);
}

void upsample_conv3d_backward_weights(const UpsampleShape& shape, int64_t events, const float* in,
                                      const float* out_gradient, float* weight_gradient, float* workspace,
                                      void* stream) {
  const Problem problem = checked(shape, events);
  // The phase with most taps is the last.
  int64_t rows = problem.in_channels;
  for (const Axis& axis : problem.axis) rows *= axis.taps(axis.up - 1);
  run_product(problem, WeightProduct{in, out_gradient, workspace}, rows, problem.out_channels, problem.phases(),
              stream);
  unfold_kernel<<<static_cast<unsigned>(
                      divided(cells(shape.kernel) * shape.in_channels * shape.out_channels, kFoldThreads)),
                  kFoldThreads, 0, stream_of(stream)>>>(problem, workspace, weight_gradient);
  check_launch("unfolding a gradient");
}

}  // namespace linac::kernels::cuda
