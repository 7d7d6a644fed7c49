#include "linac/kernels/conv3d.h"

#include <algorithm>
#include <vector>

#include "linac/base/aligned.h"
#include "linac/base/error.h"
#include "linac/kernels/plane_kernels.h"

namespace linac::kernels {
namespace {

int64_t cells(const Extent3& extent) {
  return extent[0] * extent[1] * extent[2];
}

/// A correlation: out(p) = sum over k of in(p + k - offset), with zeros outside of `in`. The forward pass and, with the
/// kernel turned round, the backward pass towards the data.
struct Correlation {
  Extent3 in, kernel, out, offset;
  int64_t in_channels, out_channels;

  int64_t in_floats() const { return cells(in) * in_channels; }
  int64_t out_floats() const { return cells(out) * out_channels; }

  PlaneShape plane_shape() const {
    PlaneShape shape{};
    shape.kernel_x = kernel[0], shape.kernel_y = kernel[1], shape.kernel_z = kernel[2];
    shape.in_y = in[1], shape.in_channels = in_channels;
    shape.out_y = out[1], shape.out_z = out[2], shape.out_channels = out_channels;
    shape.offset_y = offset[1];
    shape.z_begin = std::clamp<int64_t>(offset[2], 0, shape.in_row_cells());
    shape.z_end = std::clamp<int64_t>(offset[2] + in[2], 0, shape.in_row_cells());
    return shape;
  }
};

void check(const Conv3dShape& shape) {
  LINAC_CHECK(shape.in_channels > 0 && shape.out_channels > 0);
  for (size_t i = 0; i < 3; ++i) {
    LINAC_CHECK(shape.in[i] > 0 && shape.kernel[i] > 0 && shape.before[i] >= 0 && shape.behind[i] >= 0);
    LINAC_CHECK(shape.out()[i] > 0);
  }
}

Correlation forward_of(const Conv3dShape& shape) {
  check(shape);
  return {shape.in, shape.kernel, shape.out(), shape.before, shape.in_channels, shape.out_channels};
}

Correlation backward_of(const Conv3dShape& shape) {
  check(shape);
  Extent3 offset;
  for (size_t i = 0; i < 3; ++i) offset[i] = shape.kernel[i] - 1 - shape.before[i];
  return {shape.out(), shape.kernel, shape.in, offset, shape.out_channels, shape.in_channels};
}

/// The kernel mirrored along x, y and z, with in and out channels exchanged.
std::vector<float> turned_round(const Conv3dShape& shape, const float* weights) {
  std::vector<float> turned(static_cast<size_t>(shape.weights()));
  const int64_t taps = cells(shape.kernel), ins = shape.in_channels, outs = shape.out_channels;
  for (int64_t tap = 0; tap < taps; ++tap) {
    for (int64_t in = 0; in < ins; ++in) {
      for (int64_t out = 0; out < outs; ++out)
        turned[static_cast<size_t>(((taps - 1 - tap) * outs + out) * ins + in)] =
            weights[(tap * ins + in) * outs + out];
    }
  }
  return turned;
}

/// The input planes around one output plane, in the blocked layout: a ring that brings in each plane once a block.
class InputPlanes {
 public:
  InputPlanes(const Correlation& correlation, const PlaneKernels& kernels)
      : correlation_(correlation),
        shape_(correlation.plane_shape()),
        kernels_(kernels),
        ring_(static_cast<size_t>(correlation.kernel[0] * shape_.in_plane())),
        window_(static_cast<size_t>(correlation.kernel[0])) {}

  /// From now on planes of these images. Nothing that an earlier block left in the ring is used.
  void start(const float* images, int64_t events) {
    images_ = images, events_ = events;
    next_ = 0;
  }

  /// The planes that output plane x reads, null where outside of the image; x must not decrease between two starts.
  const float* const* window(int64_t x) {
    const int64_t kernel = correlation_.kernel[0], first = x - correlation_.offset[0];
    next_ = std::max(next_, first);
    for (int64_t k = 0; k < kernel; ++k) {
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
  float* slot(int64_t plane) { return ring_.data() + plane % correlation_.kernel[0] * shape_.in_plane(); }

  // The zeros beside [z_begin, z_end) are there from the beginning and are never overwritten.
  void bring(int64_t plane) {
    const int64_t channels = correlation_.in_channels, row = correlation_.in[2] * channels;
    const int64_t z = shape_.z_begin - correlation_.offset[2], used = (shape_.z_end - shape_.z_begin) * channels;
    const float* const source = images_ + plane * correlation_.in[1] * row + z * channels;
    if (used == row && used == shape_.in_row_cells() * channels) {
      kernels_.block(source, correlation_.in_floats(), events_, correlation_.in[1] * row, slot(plane));
      return;
    }
    for (int64_t y = 0; y < correlation_.in[1]; ++y) {
      float* const target = slot(plane) + y * shape_.in_row() + shape_.z_begin * channels * kBlockEvents;
      kernels_.block(source + y * row, correlation_.in_floats(), events_, used, target);
    }
  }

  const Correlation correlation_;
  const PlaneShape shape_;
  const PlaneKernels& kernels_;
  AlignedFloats ring_;
  std::vector<const float*> window_;
  const float* images_ = nullptr;
  int64_t events_ = 0, next_ = 0;
};

void correlate(const Correlation& correlation, int64_t events, const float* in, const float* weights, const float* bias,
               float* out, Isa isa) {
  const PlaneKernels& kernels = plane_kernels(isa);
  const PlaneShape shape = correlation.plane_shape();
  AlignedFloats packed(static_cast<size_t>(shape.taps() * shape.out_channels));
  kernels.pack_weights(shape, weights, packed.data());
  InputPlanes planes(correlation, kernels);
  AlignedFloats out_plane(static_cast<size_t>(shape.out_plane()));
  const int64_t plane_floats = shape.out_plane() / kBlockEvents;
  for (int64_t first = 0; first < events; first += kBlockEvents) {
    const int64_t here = std::min(kBlockEvents, events - first);
    planes.start(in + first * correlation.in_floats(), here);
    for (int64_t x = 0; x < correlation.out[0]; ++x) {
      kernels.forward(shape, planes.window(x), packed.data(), bias, out_plane.data());
      kernels.unblock(out_plane.data(), correlation.out_floats(), here, plane_floats,
                      out + first * correlation.out_floats() + x * plane_floats);
    }
  }
}

/// The 16 lanes in one fixed order: halves onto each other.
float sum_of_lanes(const float* lanes) {
  float sums[kBlockEvents];
  std::copy_n(lanes, kBlockEvents, sums);
  for (int64_t half = kBlockEvents / 2; half > 0; half /= 2) {
    for (int64_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0];
}

/// sums[channel][16] += the plane's cells, first row by row and then the rows, which loses fewer bits.
void add_plane(const PlaneShape& shape, const float* plane, float* sums) {
  const int64_t step = shape.out_channels * kBlockEvents;
  AlignedFloats row_sums(static_cast<size_t>(step));
  for (int64_t y = 0; y < shape.out_y; ++y, plane += shape.out_row()) {
    std::copy_n(plane, step, row_sums.data());
    for (int64_t z = 1; z < shape.out_z; ++z) {
      for (int64_t i = 0; i < step; ++i) row_sums[static_cast<size_t>(i)] += plane[z * step + i];
    }
    for (int64_t i = 0; i < step; ++i) sums[i] += row_sums[static_cast<size_t>(i)];
  }
}

}  // namespace

Extent3 Conv3dShape::out() const {
  Extent3 extent;
  for (size_t i = 0; i < 3; ++i) extent[i] = in[i] + before[i] + behind[i] - kernel[i] + 1;
  return extent;
}

int64_t Conv3dShape::in_floats() const {
  return cells(in) * in_channels;
}

int64_t Conv3dShape::out_floats() const {
  return cells(out()) * out_channels;
}

int64_t Conv3dShape::weights() const {
  return cells(kernel) * in_channels * out_channels;
}

double Conv3dShape::flop() const {
  return 2.0 * static_cast<double>(cells(out())) * static_cast<double>(weights());
}

void conv3d_forward(const Conv3dShape& shape, int64_t events, const float* in, const float* weights, const float* bias,
                    float* out, Isa isa) {
  correlate(forward_of(shape), events, in, weights, bias, out, isa);
}

void conv3d_backward_data(const Conv3dShape& shape, int64_t events, const float* out_gradient, const float* weights,
                          float* in_gradient, Isa isa) {
  correlate(backward_of(shape), events, out_gradient, turned_round(shape, weights).data(), nullptr, in_gradient, isa);
}

void conv3d_backward_weights(const Conv3dShape& shape, int64_t events, const float* in, const float* out_gradient,
                             float* weight_gradient, float* bias_gradient, Isa isa) {
  const PlaneKernels& kernels = plane_kernels(isa);
  const Correlation correlation = forward_of(shape);
  const PlaneShape plane = correlation.plane_shape();
  InputPlanes planes(correlation, kernels);
  AlignedFloats gradient_plane(static_cast<size_t>(plane.out_plane()));
  AlignedFloats weight_sums(static_cast<size_t>(shape.weights() * kBlockEvents));
  AlignedFloats bias_sums(static_cast<size_t>(shape.out_channels * kBlockEvents));
  const int64_t plane_floats = plane.out_plane() / kBlockEvents;
  for (int64_t first = 0; first < events; first += kBlockEvents) {
    const int64_t here = std::min(kBlockEvents, events - first);
    planes.start(in + first * correlation.in_floats(), here);
    for (int64_t x = 0; x < correlation.out[0]; ++x) {
      kernels.block(out_gradient + first * correlation.out_floats() + x * plane_floats, correlation.out_floats(), here,
                    plane_floats, gradient_plane.data());
      kernels.backward_weights(plane, planes.window(x), gradient_plane.data(), weight_sums.data());
      if (bias_gradient != nullptr) add_plane(plane, gradient_plane.data(), bias_sums.data());
    }
  }
  for (int64_t i = 0; i < shape.weights(); ++i)
    weight_gradient[i] = sum_of_lanes(weight_sums.data() + i * kBlockEvents);
  for (int64_t i = 0; bias_gradient != nullptr && i < shape.out_channels; ++i)
    bias_gradient[i] = sum_of_lanes(bias_sums.data() + i * kBlockEvents);
}

}  // namespace linac::kernels
