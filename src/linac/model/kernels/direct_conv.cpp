#include "linac/model/kernels/direct_conv.h"

#include <algorithm>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/model/kernels/correlation.h"
#include "linac/model/kernels/row_kernels.h"

namespace linac::kernels {
namespace {

constexpr int64_t kSmallInput = (256 << 10) / sizeof(float);  // floats of the planes that one output plane reads

// Output planes computed one after the other, which share the input planes that they hold. Runs are the unit of
// parallel work, so they are of about the same length, and of a weight gradient's partial sums, so their number is part
// of the numerics.
class Runs {
 public:
  explicit Runs(int64_t planes) : planes_(planes), count_((planes + kLongest - 1) / kLongest) {}
  int64_t count() const { return count_; }
  int64_t begin(int64_t run) const { return run * planes_ / count_; }
  int64_t end(int64_t run) const { return begin(run + 1); }

 private:
  static constexpr int64_t kLongest = 9;
  int64_t planes_, count_;
};

PlaneShape plane_shape(const Correlation& correlation) {
  const auto& [in, kernel, out, offset, in_channels, out_channels] = correlation;
  PlaneShape shape{};
  shape.kernel_x = kernel[0], shape.kernel_y = kernel[1], shape.kernel_z = kernel[2];
  shape.in_y = in[1], shape.in_channels = in_channels, shape.in_cells = out[2] + kernel[2] - 1;
  shape.out_y = out[1], shape.out_channels = out_channels, shape.out_z = out[2];
  shape.offset_y = offset[1];
  shape.z_begin = std::clamp<int64_t>(offset[2], 0, shape.in_cells);
  shape.z_end = std::clamp<int64_t>(offset[2] + in[2], shape.z_begin, shape.in_cells);
  shape.out_cell = kBlockEvents, shape.out_line = out[2] * kBlockEvents;
  shape.out_row = out_channels * shape.out_line;
  return shape;
}

/// The input planes around one output plane, in lines padded along z: a ring in this thread's memory that reads each
/// plane once a run.
class InputPlanes {
 public:
  InputPlanes(const Correlation& correlation, const PlaneShape& shape, const ReadRows& read)
      : correlation_(correlation),
        shape_(shape),
        read_(read),
        ring_(thread_scratch(Scratch::kPlanes, shape.kernel_x * shape.in_plane())),
        window_(static_cast<size_t>(shape.kernel_x)) {
    std::fill_n(ring_, shape.kernel_x * shape.in_plane(), 0.0F);  // the padding stays zero
  }

  /// The planes that output plane x reads, null where outside of the image; x must not decrease.
  const float* const* window(int64_t x) {
    const int64_t first = x - correlation_.offset[0];
    next_ = std::max(next_, first);
    for (int64_t k = 0; k < shape_.kernel_x; ++k) {
      const int64_t plane = first + k;
      const bool inside = plane >= 0 && plane < correlation_.in[0];
      if (inside && plane >= next_) {
        bring(plane);
        next_ = plane + 1;
      }
      window_[static_cast<size_t>(k)] = inside ? slot(plane) : nullptr;
    }
    return window_.data();
  }

  /// Row y of the plane that comes next, if the image is read where it lies; else null.
  const float* ahead(int64_t y) const {
    const int64_t row = correlation_.in_channels * correlation_.in[2] * kBlockEvents;
    return in_place_ == nullptr || y >= correlation_.in[1] ? nullptr : in_place_ + (correlation_.in[1] + y) * row;
  }

 private:
  float* slot(int64_t plane) { return ring_ + plane % shape_.kernel_x * shape_.in_plane(); }

  void bring(int64_t plane) {
    const int64_t lines = correlation_.in_channels, depth = correlation_.in[2];
    float* const scratch = thread_scratch(Scratch::kRows, lines * depth * kBlockEvents);
    const int64_t skipped = shape_.z_begin - correlation_.offset[2], used = shape_.z_end - shape_.z_begin;
    for (int64_t y = 0; y < correlation_.in[1]; ++y) {
      const float* const row = read_(plane, y, 1, scratch);
      if (y == 0) in_place_ = row != scratch ? row : nullptr;
      float* const to = slot(plane) + y * shape_.in_row() + shape_.z_begin * kBlockEvents;
      for (int64_t c = 0; c < lines; ++c)
        std::copy_n(row + (c * depth + skipped) * kBlockEvents, used * kBlockEvents, to + c * shape_.in_line());
    }
  }

  const Correlation& correlation_;
  const PlaneShape& shape_;
  const ReadRows& read_;
  float* const ring_;
  std::vector<const float*> window_;
  int64_t next_ = 0;
  const float* in_place_ = nullptr;  // the last plane, if it was not computed
};

void correlate(const Correlation& correlation, const ReadRows& read, const float* weights, const RowSink& sink, Isa isa,
               const Parallel& parallel) {
  const PlaneKernels& kernels = plane_kernels(isa);
  const PlaneShape shape = plane_shape(correlation);
  AlignedFloats packed(static_cast<size_t>(shape.taps() * shape.out_channels));
  kernels.pack_weights(shape, weights, packed.data());
  // Where the input stays in the L2 cache, rows are handed on one by one, each from the L1 cache.
  const bool small = shape.kernel_x * shape.in_plane() <= kSmallInput;
  const int64_t step = small ? 1 : shape.out_y;
  const Stores stores = small && !sink.finish ? Stores::kPastCaches : Stores::kIntoCaches;
  const Runs runs(correlation.out[0]);
  parallel(runs.count(), [&](int64_t run) {
    InputPlanes planes(correlation, shape, read);
    for (int64_t x = runs.begin(run); x < runs.end(run); ++x) {
      const float* const* const window = planes.window(x);
      for (int64_t y = 0; y < shape.out_y; y += step) {
        float* const out = sink.place(x, y, step);
        kernels.forward(shape, y, y + step, window, packed.data(), out, stores, small ? planes.ahead(y) : nullptr);
        if (sink.finish) sink.finish(x, y, step, out);
      }
    }
  });
}

}  // namespace

float sum_of_lanes(const float* lanes, int64_t events) {
  float sum = lanes[0];
  for (int64_t event = 1; event < events; ++event) sum += lanes[event];
  return sum;
}

void add_bias_lanes(const double* sums, int64_t channels, int64_t events, float* bias) {
  for (int64_t c = 0; c < channels; ++c) {
    double sum = 0;
    for (int64_t event = 0; event < events; ++event) sum += sums[c * 32 + event];
    bias[c] = static_cast<float>(sum);
  }
}

DirectConv3d::DirectConv3d(const Conv3dShape& shape, Isa isa) : shape_(shape), isa_(isa) {
  shape.check();
}

/// Whether the taps along x can be taken together (narrow_tiles-inl.h): few channels, and no padding but along y.
bool DirectConv3d::narrow() const {
  return shape_.kernel[0] * shape_.out_channels <= kNarrowest && shape_.before[0] == 0 && shape_.behind[0] == 0 &&
         shape_.before[2] == 0 && shape_.behind[2] == 0;
}

namespace {

/// Sums (kx, out channel) of an input plane, as channels of one shape.
PlaneShape narrow_shape(const PlaneShape& shape) {
  PlaneShape narrow = shape;
  narrow.kernel_x = 1;
  return narrow;
}

/// The sums that input plane p adds to, of output planes begin ... end - 1.
struct WantedSums {
  int64_t begin, end;  // of the taps along x
  WantedSums(int64_t taps, int64_t p, int64_t first, int64_t last)
      : begin(std::max<int64_t>(0, p - last + 1)), end(std::min(taps, p - first + 1)) {}
};

}  // namespace

/// An output plane's sums wait in this thread's memory, in a ring, until the last plane that it reads is met.
void DirectConv3d::narrow_forward(const ReadRows& in, const float* weights, const RowSink& out,
                                  const Parallel& parallel) const {
  const PlaneShape shape = narrow_shape(plane_shape(Correlation::forwards(shape_)));
  const int64_t taps = shape_.kernel[0], channels = shape.out_channels, width = taps * channels,
                rows = shape.kernel_y * shape.kernel_z * shape.in_channels, plane = shape.out_y * shape.out_row;
  // [kx][ky][kz][in][out] -> [ky][in][kz][kx][out]
  std::vector<float> packed;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t kz = row % shape.kernel_z, ci = row / shape.kernel_z % shape.in_channels,
                  ky = row / shape.kernel_z / shape.in_channels;
    for (int64_t kx = 0; kx < taps; ++kx) {
      const float* const tap =
          weights + (((kx * shape.kernel_y + ky) * shape.kernel_z + kz) * shape.in_channels + ci) * channels;
      packed.insert(packed.end(), tap, tap + channels);
    }
  }
  const Runs runs(shape_.out()[0]);
  parallel(runs.count(), [&](int64_t run) {
    const int64_t begin = runs.begin(run), end = runs.end(run);
    float* const ring = thread_scratch(Scratch::kPlane, taps * plane);
    std::vector<const float*> from(static_cast<size_t>(width));
    std::vector<float*> to(static_cast<size_t>(width));
    for (int64_t p = begin; p < end + taps - 1; ++p) {
      const float* const cells = in(p, 0, shape.in_y, thread_scratch(Scratch::kPlanes, shape.in_plane()));
      const WantedSums wanted(taps, p, begin, end);
      float* const finished = wanted.end == taps ? out.place(p - taps + 1, 0, shape.out_y) : nullptr;
      for (int64_t i = wanted.begin * channels; i < wanted.end * channels; ++i) {
        const int64_t kx = i / channels;
        float* const waiting = ring + (p - kx) % taps * plane + i % channels * shape.out_line;
        from[static_cast<size_t>(i)] = kx == 0 ? nullptr : waiting;
        to[static_cast<size_t>(i)] = kx == taps - 1 ? finished + i % channels * shape.out_line : waiting;
      }
      plane_kernels(isa_).narrow_forward(
          shape, cells, packed.data(), {width, wanted.begin * channels, wanted.end * channels, from.data(), to.data()});
      if (finished != nullptr && out.finish) out.finish(p - taps + 1, 0, shape.out_y, finished);
    }
  });
}

void DirectConv3d::forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace&,
                           const Parallel& parallel) const {
  if (narrow()) return narrow_forward(in, weights, out, parallel);
  correlate(Correlation::forwards(shape_), in, weights, out, isa_, parallel);
}

void DirectConv3d::backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                            const ConvGradients& gradients, ConvWorkspace&, const Parallel& parallel) const {
  if (gradients.weights != nullptr) backward_weights(in, out_gradient, events, gradients, parallel);
  if (gradients.in.place) {
    correlate(Correlation::backwards(shape_), out_gradient, turned_kernel(shape_, weights).data(), gradients.in, isa_,
              parallel);
  }
}

namespace {

/// What a run of output planes adds to the gradients of weights and bias, lane by lane.
struct RunSums {
  float* weights;
  double* bias;  // null: not wanted
};

/// [kx][ky][in][kz][out][16]
void add_run(const Correlation& correlation, const ReadRows& in, const ReadRows& out_gradient, int64_t begin,
             int64_t end, Isa isa, const RunSums& sums) {
  const PlaneShape shape = plane_shape(correlation);
  const RowShape plane{shape.out_y, shape.out_channels, shape.out_z};
  InputPlanes planes(correlation, shape, in);
  ReadAhead nothing_ahead;
  for (int64_t x = begin; x < end; ++x) {
    const float* const gradient = out_gradient(x, 0, shape.out_y, thread_scratch(Scratch::kPlane, plane.floats()));
    plane_kernels(isa).backward_weights(shape, planes.window(x), gradient, sums.weights, nothing_ahead);
    if (sums.bias != nullptr) row_kernels(isa).add_cells(plane, gradient, sums.bias);
  }
}

/// [ky][in][kz][kx][out][16]
void add_narrow_run(const Correlation& correlation, const ReadRows& in, const ReadRows& out_gradient, int64_t begin,
                    int64_t end, Isa isa, const RunSums& sums) {
  const PlaneShape shape = narrow_shape(plane_shape(correlation));
  const RowShape plane{shape.out_y, shape.out_channels, shape.out_z};
  const int64_t taps = correlation.kernel[0], channels = shape.out_channels;
  float* const ring = thread_scratch(Scratch::kPlane, taps * plane.floats());
  std::vector<const float*> gradients(static_cast<size_t>(taps * channels));
  for (int64_t p = begin; p < end + taps - 1; ++p) {
    std::move_backward(gradients.begin(), gradients.end() - channels, gradients.end());
    if (p < end) {
      const float* const gradient = out_gradient(p, 0, shape.out_y, ring + p % taps * plane.floats());
      for (int64_t c = 0; c < channels; ++c) gradients[static_cast<size_t>(c)] = gradient + c * shape.out_line;
      if (sums.bias != nullptr) row_kernels(isa).add_cells(plane, gradient, sums.bias);
    }
    const float* const cells = in(p, 0, shape.in_y, thread_scratch(Scratch::kPlanes, shape.in_plane()));
    const WantedSums wanted(taps, p, begin, end);
    plane_kernels(isa).narrow_weights(
        shape, cells, {taps * channels, wanted.begin * channels, wanted.end * channels, gradients.data(), nullptr},
        sums.weights);
  }
}

}  // namespace

void DirectConv3d::backward_weights(const ReadRows& in, const ReadRows& out_gradient, int64_t events,
                                    const ConvGradients& gradients, const Parallel& parallel) const {
  const Correlation correlation = Correlation::forwards(shape_);
  const auto& [kernel_x, kernel_y, kernel_z] = correlation.kernel;
  const int64_t ins = shape_.in_channels, outs = shape_.out_channels;
  const Runs runs(correlation.out[0]);
  const int64_t count = runs.count(), weight_lanes = shape_.weights() * kBlockEvents,
                bias_lanes = outs * 2 * kBlockEvents;
  AlignedFloats weight_sums(static_cast<size_t>(count * weight_lanes));
  std::vector<double> bias_sums(static_cast<size_t>(count * bias_lanes));
  parallel(count, [&](int64_t run) {
    (narrow() ? add_narrow_run : add_run)(correlation, in, out_gradient, runs.begin(run), runs.end(run), isa_,
                                          {weight_sums.data() + run * weight_lanes,
                                           gradients.bias != nullptr ? bias_sums.data() + run * bias_lanes : nullptr});
  });
  for (int64_t run = 1; run < count; ++run) {
    for (int64_t i = 0; i < weight_lanes; ++i)
      weight_sums[static_cast<size_t>(i)] += weight_sums[static_cast<size_t>(run * weight_lanes + i)];
    for (int64_t i = 0; i < bias_lanes; ++i)
      bias_sums[static_cast<size_t>(i)] += bias_sums[static_cast<size_t>(run * bias_lanes + i)];
  }
  // To Keras's [kx][ky][kz][in][out].
  const float* lanes = weight_sums.data();
  const int64_t slow_x = narrow() ? 1 : kernel_x, fast_x = narrow() ? kernel_x : 1;
  for (int64_t row = 0; row < slow_x * kernel_y; ++row) {
    for (int64_t ci = 0; ci < ins; ++ci) {
      for (int64_t kz = 0; kz < kernel_z; ++kz) {
        for (int64_t kx = 0; kx < fast_x; ++kx) {
          float* const to = gradients.weights + (((kx * kernel_y + row) * kernel_z + kz) * ins + ci) * outs;
          for (int64_t c = 0; c < outs; ++c, lanes += kBlockEvents) to[c] = sum_of_lanes(lanes, events);
        }
      }
    }
  }
  if (gradients.bias != nullptr) add_bias_lanes(bias_sums.data(), outs, events, gradients.bias);
}

}  // namespace linac::kernels
