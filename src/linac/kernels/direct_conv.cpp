#include "linac/kernels/direct_conv.h"

#include <algorithm>
#include <vector>

#include "linac/base/error.h"
#include "linac/kernels/correlation.h"
#include "linac/kernels/row_kernels.h"

namespace linac::kernels {
namespace {

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

 private:
  float* slot(int64_t plane) { return ring_ + plane % shape_.kernel_x * shape_.in_plane(); }

  void bring(int64_t plane) {
    const int64_t lines = correlation_.in_channels, depth = correlation_.in[2];
    float* const scratch = thread_scratch(Scratch::kRows, lines * depth * kBlockEvents);
    const int64_t skipped = shape_.z_begin - correlation_.offset[2], used = shape_.z_end - shape_.z_begin;
    for (int64_t y = 0; y < correlation_.in[1]; ++y) {
      const float* const row = read_(plane, y, 1, scratch);
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
};

void correlate(const Correlation& correlation, const ReadRows& read, const float* weights, const RowSink& sink, Isa isa,
               const Parallel& parallel) {
  const PlaneKernels& kernels = plane_kernels(isa);
  const PlaneShape shape = plane_shape(correlation);
  AlignedFloats packed(static_cast<size_t>(shape.taps() * shape.out_channels));
  kernels.pack_weights(shape, weights, packed.data());
  const Runs runs(correlation.out[0]);
  parallel(runs.count(), [&](int64_t run) {
    InputPlanes planes(correlation, shape, read);
    for (int64_t x = runs.begin(run); x < runs.end(run); ++x) {
      float* const out = sink.place(x, 0, shape.out_y);
      kernels.forward(shape, planes.window(x), packed.data(), out);
      if (sink.finish) sink.finish(x, 0, shape.out_y, out);
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

void DirectConv3d::forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace&,
                           const Parallel& parallel) const {
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

void DirectConv3d::backward_weights(const ReadRows& in, const ReadRows& out_gradient, int64_t events,
                                    const ConvGradients& gradients, const Parallel& parallel) const {
  const Correlation correlation = Correlation::forwards(shape_);
  const PlaneKernels& kernels = plane_kernels(isa_);
  const PlaneShape shape = plane_shape(correlation);
  const RowShape plane{shape.out_y, shape.out_channels, shape.out_z};
  const Runs runs(correlation.out[0]);
  const int64_t count = runs.count(), weight_lanes = shape_.weights() * kBlockEvents,
                bias_lanes = shape.out_channels * 2 * kBlockEvents;
  AlignedFloats weight_sums(static_cast<size_t>(count * weight_lanes));
  std::vector<double> bias_sums(static_cast<size_t>(count * bias_lanes));
  parallel(count, [&](int64_t run) {
    InputPlanes planes(correlation, shape, in);
    ReadAhead nothing_ahead;
    for (int64_t x = runs.begin(run); x < runs.end(run); ++x) {
      const float* const gradient = out_gradient(x, 0, shape.out_y, thread_scratch(Scratch::kPlane, plane.floats()));
      kernels.backward_weights(shape, planes.window(x), gradient, weight_sums.data() + run * weight_lanes,
                               nothing_ahead);
      if (gradients.bias != nullptr) row_kernels(isa_).add_cells(plane, gradient, bias_sums.data() + run * bias_lanes);
    }
  });
  for (int64_t run = 1; run < count; ++run) {
    for (int64_t i = 0; i < weight_lanes; ++i)
      weight_sums[static_cast<size_t>(i)] += weight_sums[static_cast<size_t>(run * weight_lanes + i)];
    for (int64_t i = 0; i < bias_lanes; ++i)
      bias_sums[static_cast<size_t>(i)] += bias_sums[static_cast<size_t>(run * bias_lanes + i)];
  }
  // [kx][ky][in][kz][out][16] -> Keras's [kx][ky][kz][in][out]
  const float* lanes = weight_sums.data();
  for (int64_t row = 0; row < shape.kernel_x * shape.kernel_y; ++row) {
    for (int64_t ci = 0; ci < shape.in_channels; ++ci) {
      for (int64_t kz = 0; kz < shape.kernel_z; ++kz) {
        float* const to =
            gradients.weights + ((row * shape.kernel_z + kz) * shape.in_channels + ci) * shape.out_channels;
        for (int64_t c = 0; c < shape.out_channels; ++c, lanes += kBlockEvents) to[c] = sum_of_lanes(lanes, events);
      }
    }
  }
  if (gradients.bias != nullptr) add_bias_lanes(bias_sums.data(), shape.out_channels, events, gradients.bias);
}

}  // namespace linac::kernels
