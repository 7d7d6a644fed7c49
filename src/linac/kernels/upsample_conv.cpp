#include "linac/kernels/upsample_conv.h"

#include <algorithm>

#include "linac/base/error.h"
#include "linac/kernels/direct_conv.h"
#include "linac/kernels/row_kernels.h"

namespace linac::kernels {

Extent3 UpsampleShape::out() const {
  Extent3 extent;
  for (size_t i = 0; i < 3; ++i) extent[i] = in[i] * up[i] - kernel[i] + 1;
  return extent;
}

int64_t PhaseAxis::pairs(int64_t phase) const {
  int64_t count = 0;
  for (int64_t p = 0; p < phase; ++p) count += taps(p);
  return count;
}

UpsampleConv3d::UpsampleConv3d(const UpsampleShape& shape, Isa isa) : shape_(shape), isa_(isa) {
  LINAC_CHECK(shape.in_channels > 0 && shape.out_channels > 0);
  for (size_t i = 0; i < 3; ++i) {
    axes_[i] = {shape.in[i], shape.up[i], shape.kernel[i]};
    LINAC_CHECK(shape.in[i] > 0 && shape.up[i] > 0 && shape.kernel[i] > 0 && axes_[i].out() > 0);
  }
}

/// The planes of an image, dense, where they lie or read into `buffer`.
UpsampleConv3d::Planes UpsampleConv3d::gather(const ReadRows& read, const Extent3& extent, int64_t channels,
                                              AlignedFloats& buffer, const Parallel& parallel) const {
  const int64_t plane = extent[1] * channels * extent[2] * kBlockEvents;
  float* const room = grown(buffer, extent[0] * plane);
  Planes planes(static_cast<size_t>(extent[0]));
  parallel(extent[0], [&](int64_t x) { planes[static_cast<size_t>(x)] = read(x, 0, extent[1], room + x * plane); });
  return planes;
}

namespace {

enum class Fold { kTapsToPairs, kPairsToTaps };

/// One axis of [outer][tap][inner] to [outer][pair of phase and tap][inner], or the transposed map: a tap belongs to
/// one pair of each phase.
std::vector<float> fold_axis(const PhaseAxis& axis, Fold direction, int64_t outer, int64_t inner,
                             const std::vector<float>& from) {
  const int64_t pairs = axis.pairs(axis.up);
  const bool folds = direction == Fold::kTapsToPairs;
  std::vector<float> to(static_cast<size_t>(outer * (folds ? pairs : axis.kernel) * inner));
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t phase = 0; phase < axis.up; ++phase) {
      for (int64_t k = 0; k < axis.kernel; ++k) {
        const int64_t tap = (o * axis.kernel + k) * inner,
                      pair = (o * pairs + axis.pairs(phase) + (phase + k) / axis.up) * inner;
        const float* const source = from.data() + (folds ? tap : pair);
        float* const target = to.data() + (folds ? pair : tap);
        for (int64_t i = 0; i < inner; ++i) target[i] += source[i];
      }
    }
  }
  return to;
}

}  // namespace

/// [(px, tx)][(py, ty)][(pz, tz)][in][out]: the sums of taps that fall into one input cell, axis by axis.
std::vector<float> UpsampleConv3d::fold(const float* weights) const {
  const int64_t channels = shape_.in_channels * shape_.out_channels;
  std::vector<float> values(weights, weights + cells(shape_.kernel) * channels);
  int64_t outer = 1, inner = cells(shape_.kernel) * channels;
  for (const PhaseAxis& axis : axes_) {
    inner /= axis.kernel;
    values = fold_axis(axis, Fold::kTapsToPairs, outer, inner, values);
    outer *= axis.pairs(axis.up);
  }
  return values;
}

/// The gradient's way back: a tap is part of as many sums as there are phases.
void UpsampleConv3d::unfold(const std::vector<float>& folded, float* weight_gradient) const {
  std::vector<float> values = folded;
  int64_t outer = 1, inner = static_cast<int64_t>(folded.size());
  for (const PhaseAxis& axis : axes_) {
    inner /= axis.pairs(axis.up);
    values = fold_axis(axis, Fold::kPairsToTaps, outer, inner, values);
    outer *= axis.kernel;
  }
  std::copy(values.begin(), values.end(), weight_gradient);
}

/// The phase's output cells as a convolution of the small image.
PlaneShape UpsampleConv3d::phase_shape(int64_t px, int64_t py, int64_t pz) const {
  PlaneShape shape{};
  shape.kernel_x = axes_[0].taps(px), shape.kernel_y = axes_[1].taps(py), shape.kernel_z = axes_[2].taps(pz);
  shape.in_y = shape_.in[1], shape.in_channels = shape_.in_channels, shape.in_cells = shape_.in[2];
  shape.out_y = axes_[1].count(py), shape.out_z = axes_[2].count(pz), shape.out_channels = shape_.out_channels;
  shape.z_begin = 0, shape.z_end = shape_.in[2];
  shape.out_cell = shape_.up[2] * kBlockEvents, shape.out_line = axes_[2].out() * kBlockEvents;
  shape.out_row = shape_.up[1] * shape_.out_channels * shape.out_line;
  return shape;
}

/// [tx][ty][tz][in][out] of one phase.
std::vector<float> UpsampleConv3d::phase_kernel(const std::vector<float>& folded, int64_t px, int64_t py,
                                                int64_t pz) const {
  const int64_t pair = shape_.in_channels * shape_.out_channels;
  const int64_t y_pairs = axes_[1].pairs(axes_[1].up), z_pairs = axes_[2].pairs(axes_[2].up);
  std::vector<float> kernel;
  for (int64_t tx = 0; tx < axes_[0].taps(px); ++tx) {
    for (int64_t ty = 0; ty < axes_[1].taps(py); ++ty) {
      const int64_t row = (axes_[0].pairs(px) + tx) * y_pairs + axes_[1].pairs(py) + ty;
      const auto first = folded.begin() + (row * z_pairs + axes_[2].pairs(pz)) * pair;
      kernel.insert(kernel.end(), first, first + axes_[2].taps(pz) * pair);
    }
  }
  return kernel;
}

void UpsampleConv3d::forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace& workspace,
                             const Parallel& parallel) const {
  const PlaneKernels& kernels = plane_kernels(isa_);
  const Planes planes = gather(in, shape_.in, shape_.in_channels, workspace.in, parallel);
  const std::vector<float> folded = fold(weights);
  const Extent3 extent = shape_.out(), up = shape_.up;
  parallel(up[0], [&](int64_t px) {
    AlignedFloats packed;
    for (int64_t py = 0; py < up[1]; ++py) {
      for (int64_t pz = 0; pz < up[2]; ++pz) {
        const PlaneShape shape = phase_shape(px, py, pz);
        const std::vector<float> kernel = phase_kernel(folded, px, py, pz);
        packed.resize(packed.size() + kernel.size());
        kernels.pack_weights(shape, kernel.data(), packed.data() + packed.size() - kernel.size());
      }
    }
    for (int64_t x = px; x < extent[0]; x += up[0]) {
      float* const plane = out.place(x, 0, extent[1]);
      const float* next = packed.data();
      for (int64_t py = 0; py < up[1]; ++py) {
        for (int64_t pz = 0; pz < up[2]; ++pz) {
          const PlaneShape shape = phase_shape(px, py, pz);
          if (shape.out_y > 0 && shape.out_z > 0) {
            kernels.forward(shape, planes.data() + x / up[0], next,
                            plane + py * (shape.out_row / up[1]) + pz * kBlockEvents, Sums::kOverwrite);
          }
          next += shape.taps() * shape.out_channels;
        }
      }
      if (out.finish) out.finish(x, 0, extent[1], plane);
    }
  });
}

void UpsampleConv3d::backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                              const ConvGradients& gradients, ConvWorkspace& workspace,
                              const Parallel& parallel) const {
  const Planes gradient = gather(out_gradient, shape_.out(), shape_.out_channels, workspace.out, parallel);
  if (gradients.weights != nullptr) {
    const Planes planes = gather(in, shape_.in, shape_.in_channels, workspace.in, parallel);
    backward_weights(planes, gradient, events, gradients, parallel);
  }
  if (gradients.in.place) backward_data(gradient, weights, gradients.in, parallel);
}

void UpsampleConv3d::backward_weights(const Planes& in, const Planes& gradient, int64_t events,
                                      const ConvGradients& gradients, const Parallel& parallel) const {
  const PlaneKernels& kernels = plane_kernels(isa_);
  const Extent3 extent = shape_.out(), up = shape_.up;
  const int64_t pair = shape_.in_channels * shape_.out_channels;
  const int64_t y_pairs = axes_[1].pairs(up[1]), z_pairs = axes_[2].pairs(up[2]);
  const RowShape rows{extent[1], shape_.out_channels, extent[2]};
  std::vector<float> folded(static_cast<size_t>(axes_[0].pairs(up[0]) * y_pairs * z_pairs * pair));
  std::vector<double> bias_sums(static_cast<size_t>(up[0] * shape_.out_channels * 32));
  parallel(up[0], [&](int64_t px) {
    const int64_t taps_x = axes_[0].taps(px), lanes = taps_x * y_pairs * z_pairs * pair * kBlockEvents;
    float* const sums = thread_scratch(Scratch::kSums, lanes);
    std::fill_n(sums, lanes, 0.0F);
    double* const bias = bias_sums.data() + px * shape_.out_channels * 32;
    for (int64_t x = px; x < extent[0]; x += up[0]) {
      const float* const plane = gradient[static_cast<size_t>(x)];
      if (gradients.bias != nullptr) row_kernels(isa_).add_cells(rows, plane, bias);
      float* next = sums;
      for (int64_t py = 0; py < up[1]; ++py) {
        for (int64_t pz = 0; pz < up[2]; ++pz) {
          const PlaneShape shape = phase_shape(px, py, pz);
          if (shape.out_y > 0 && shape.out_z > 0) {
            kernels.backward_weights(shape, in.data() + x / up[0],
                                     plane + py * (shape.out_row / up[1]) + pz * kBlockEvents, next);
          }
          next += shape.taps() * shape.out_channels * kBlockEvents;
        }
      }
    }
    // Each phase's [tx][ty][in][tz][out][16] -> its place in `folded`.
    const float* from = sums;
    for (int64_t py = 0; py < up[1]; ++py) {
      for (int64_t pz = 0; pz < up[2]; ++pz) {
        const PlaneShape shape = phase_shape(px, py, pz);
        for (int64_t tap = 0; tap < shape.kernel_x * shape.kernel_y; ++tap) {
          const int64_t row =
              (axes_[0].pairs(px) + tap / shape.kernel_y) * y_pairs + axes_[1].pairs(py) + tap % shape.kernel_y;
          for (int64_t ci = 0; ci < shape.in_channels; ++ci) {
            for (int64_t tz = 0; tz < shape.kernel_z; ++tz) {
              float* const to = folded.data() + ((row * z_pairs + axes_[2].pairs(pz) + tz) * shape.in_channels + ci) *
                                                    shape.out_channels;
              for (int64_t c = 0; c < shape.out_channels; ++c, from += kBlockEvents) {
                for (int64_t event = 0; event < events; ++event) to[c] += from[event];
              }
            }
          }
        }
      }
    }
  });
  unfold(folded, gradients.weights);
  if (gradients.bias == nullptr) return;
  for (int64_t px = 1; px < up[0]; ++px) {
    for (int64_t i = 0; i < shape_.out_channels * 32; ++i)
      bias_sums[static_cast<size_t>(i)] += bias_sums[static_cast<size_t>(px * shape_.out_channels * 32 + i)];
  }
  add_bias_lanes(bias_sums.data(), shape_.out_channels, events, gradients.bias);
}

/// The phases of an axis that have the same number of cells and of taps, so that they can be computed as channels of
/// one image.
std::vector<std::vector<int64_t>> UpsampleConv3d::alike(const PhaseAxis& axis) {
  std::vector<std::vector<int64_t>> groups;
  for (int64_t phase = 0; phase < axis.up; ++phase) {
    if (axis.count(phase) <= 0) continue;
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const std::vector<int64_t>& group) {
      return axis.count(group[0]) == axis.count(phase) && axis.taps(group[0]) == axis.taps(phase);
    });
    if (same == groups.end())
      groups.push_back({phase});
    else
      same->push_back(phase);
  }
  return groups;
}

/// The convolution of one plane of output gradients towards one plane of the small image: the cells of alike phases are
/// channels, with zeros on both sides of z, and meet the turned phase kernels.
PlaneShape UpsampleConv3d::turned_shape(const PhaseGroup& group) const {
  const PlaneShape phase = phase_shape(0, group.y[0], group.z[0]);
  PlaneShape shape{};
  shape.kernel_x = 1, shape.kernel_y = phase.kernel_y, shape.kernel_z = phase.kernel_z;
  shape.in_y = phase.out_y;
  shape.in_channels = static_cast<int64_t>(group.y.size() * group.z.size()) * shape_.out_channels;
  shape.in_cells = phase.out_z + 2 * (phase.kernel_z - 1);
  shape.out_y = phase.out_y + phase.kernel_y - 1, shape.out_channels = shape_.in_channels;
  shape.out_z = phase.out_z + phase.kernel_z - 1;
  shape.offset_y = phase.kernel_y - 1;
  shape.z_begin = phase.kernel_z - 1, shape.z_end = shape.z_begin + phase.out_z;
  shape.out_cell = kBlockEvents, shape.out_line = shape_.in[2] * kBlockEvents;
  shape.out_row = shape_.in_channels * shape.out_line;
  return shape;
}

/// Their kernels, packed, one for each pair (px, tx): [ty][tz][phase of y, phase of z, out][in], turned.
std::vector<AlignedFloats> UpsampleConv3d::turned_kernels(const PhaseGroup& group,
                                                          const std::vector<float>& folded) const {
  const PlaneShape shape = turned_shape(group);
  const int64_t ins = shape_.in_channels, outs = shape_.out_channels;
  std::vector<AlignedFloats> kernels;
  for (int64_t px = 0; px < shape_.up[0]; ++px) {
    for (int64_t tx = 0; tx < axes_[0].taps(px); ++tx) {
      std::vector<float> joined(static_cast<size_t>(shape.taps() * ins));
      int64_t channel = 0;
      for (const int64_t py : group.y) {
        for (const int64_t pz : group.z) {
          const std::vector<float> phase = phase_kernel(folded, px, py, pz);
          const Conv3dShape tap{{1, 1, 1}, ins, {1, shape.kernel_y, shape.kernel_z}, outs};
          const std::vector<float> turned = turned_kernel(tap, phase.data() + tx * tap.weights());
          for (int64_t k = 0; k < shape.kernel_y * shape.kernel_z; ++k) {
            std::copy_n(turned.data() + k * outs * ins, outs * ins,
                        joined.data() + (k * shape.in_channels + channel) * ins);
          }
          channel += outs;
        }
      }
      kernels.emplace_back(joined.size());
      plane_kernels(isa_).pack_weights(shape, joined.data(), kernels.back().data());
    }
  }
  return kernels;
}

void UpsampleConv3d::backward_data(const Planes& gradient, const float* weights, const RowSink& in_gradient,
                                   const Parallel& parallel) const {
  const std::vector<float> folded = fold(weights);
  std::vector<PhaseGroup> groups;
  std::vector<std::vector<AlignedFloats>> kernels;
  for (const auto& y : alike(axes_[1])) {
    for (const auto& z : alike(axes_[2])) {
      groups.push_back({y, z});
      kernels.push_back(turned_kernels(groups.back(), folded));
    }
  }
  parallel(shape_.in[0], [&](int64_t n) {
    float* const target = in_gradient.place(n, 0, shape_.in[1]);
    std::fill_n(target, shape_.in[1] * shape_.in_channels * shape_.in[2] * kBlockEvents, 0.0F);
    for (int64_t px = 0; px < shape_.up[0]; ++px) {
      for (int64_t tx = 0; tx < axes_[0].taps(px); ++tx) {
        const int64_t x = (n - tx) * shape_.up[0] + px;
        if (n < tx || x >= axes_[0].out()) continue;
        for (size_t i = 0; i < groups.size(); ++i) {
          const auto& kernel = kernels[i][static_cast<size_t>(axes_[0].pairs(px) + tx)];
          add_phases(gradient[static_cast<size_t>(x)], groups[i], kernel, target);
        }
      }
    }
    if (in_gradient.finish) in_gradient.finish(n, 0, shape_.in[1], target);
  });
}

/// The contribution of alike phases of an output plane to an input plane.
void UpsampleConv3d::add_phases(const float* gradient_plane, const PhaseGroup& group, const AlignedFloats& kernel,
                                float* target) const {
  const PlaneShape shape = turned_shape(group), phase = phase_shape(0, group.y[0], group.z[0]);
  float* const cells = thread_scratch(Scratch::kPlane, shape.in_plane());
  float* line = cells;
  for (int64_t y = 0; y < shape.in_y; ++y) {
    for (const int64_t py : group.y) {
      for (const int64_t pz : group.z) {
        const float* const from =
            gradient_plane + y * phase.out_row + py * (phase.out_row / shape_.up[1]) + pz * kBlockEvents;
        for (int64_t c = 0; c < shape_.out_channels; ++c, line += shape.in_line()) {
          std::fill_n(line, shape.z_begin * kBlockEvents, 0.0F);
          for (int64_t z = 0; z < phase.out_z; ++z)
            std::copy_n(from + c * phase.out_line + z * phase.out_cell, kBlockEvents,
                        line + (shape.z_begin + z) * kBlockEvents);
          std::fill_n(line + shape.z_end * kBlockEvents, (shape.in_cells - shape.z_end) * kBlockEvents, 0.0F);
        }
      }
    }
  }
  const float* const planes[] = {cells};
  plane_kernels(isa_).forward(shape, planes, kernel.data(), target, Sums::kAdd);
}

}  // namespace linac::kernels
