#include "linac/kernels/upsample_conv.h"

#include <algorithm>
#include <cstring>
#include <functional>

#include "linac/base/error.h"
#include "linac/kernels/direct_conv.h"
#include "linac/kernels/row_kernels.h"

namespace linac::kernels {
namespace {

constexpr int64_t kPiecesOfPhase = 2;  // pieces of work of a phase along x, for the threads; part of the numerics

}  // namespace

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
  for (const auto& y : alike(axes_[1])) {
    for (const auto& z : alike(axes_[2])) {
      PhaseGroup group{y, z, {}, phase_floats_};
      group.shape = turned_shape(group);
      phase_floats_ += group.shape.in_plane();
      groups_.push_back(std::move(group));
    }
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
  std::vector<AlignedFloats> packed(static_cast<size_t>(up[0]));
  parallel(up[0], [&](int64_t px) {
    AlignedFloats& of_px = packed[static_cast<size_t>(px)];
    for (int64_t py = 0; py < up[1]; ++py) {
      for (int64_t pz = 0; pz < up[2]; ++pz) {
        const std::vector<float> kernel = phase_kernel(folded, px, py, pz);
        of_px.resize(of_px.size() + kernel.size());
        kernels.pack_weights(phase_shape(px, py, pz), kernel.data(), of_px.data() + of_px.size() - kernel.size());
      }
    }
  });
  parallel(extent[0], [&](int64_t x) {
    const int64_t px = x % up[0];
    float* const plane = out.place(x, 0, extent[1]);
    const float* next = packed[static_cast<size_t>(px)].data();
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
  });
}

/// A piece of work is some output planes of one phase along x: each is read and split into its other phases, which stay
/// in the L2 cache while both gradients use them.
void UpsampleConv3d::backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                              const ConvGradients& gradients, ConvWorkspace& workspace,
                              const Parallel& parallel) const {
  const bool data_wanted = static_cast<bool>(gradients.in.place), weights_wanted = gradients.weights != nullptr;
  const Planes planes = weights_wanted ? gather(in, shape_.in, shape_.in_channels, workspace.in, parallel) : Planes();
  const std::vector<AlignedFloats> turned =
      data_wanted ? turned_kernels(weights, parallel) : std::vector<AlignedFloats>();
  const Extent3 extent = shape_.out();
  const RowShape row{1, shape_.out_channels, extent[2]};
  const int64_t pieces = shape_.up[0] * kPiecesOfPhase, bias_lanes = shape_.out_channels * 2 * kBlockEvents,
                image = cells(shape_.in) * shape_.in_channels * kBlockEvents;
  std::vector<double> bias_sums(static_cast<size_t>(pieces * bias_lanes));
  std::vector<std::vector<float>> weight_sums(static_cast<size_t>(pieces));
  float* const images = grown(workspace.out, data_wanted ? pieces * image : 0);
  if (data_wanted) std::fill_n(images, pieces * image, 0.0F);
  parallel(pieces, [&](int64_t piece) {
    const int64_t px = piece / kPiecesOfPhase, part = piece % kPiecesOfPhase, count = axes_[0].count(px);
    float* const phases = thread_scratch(Scratch::kPlane, phase_floats_);
    float* const scratch = thread_scratch(Scratch::kRows, row.floats());
    float* const sums = thread_scratch(Scratch::kSums, weights_wanted ? sum_lanes(px) : 0);
    std::fill_n(sums, weights_wanted ? sum_lanes(px) : 0, 0.0F);
    for (int64_t q = part * count / kPiecesOfPhase; q < (part + 1) * count / kPiecesOfPhase; ++q) {
      for (int64_t y = 0; y < extent[1]; ++y) {
        const float* const cells = out_gradient(q * shape_.up[0] + px, y, 1, scratch);
        if (gradients.bias != nullptr) row_kernels(isa_).add_cells(row, cells, bias_sums.data() + piece * bias_lanes);
        split_row(cells, y, phases);
      }
      if (weights_wanted) add_weight_products(px, planes.data() + q, phases, sums);
      if (data_wanted) add_data_gradient(px, q, phases, turned, images + piece * image);
    }
    if (weights_wanted) weight_sums[static_cast<size_t>(piece)] = sum_over_events(px, sums, events);
  });
  if (weights_wanted) join_weight_sums(weight_sums, gradients.weights);
  if (gradients.bias != nullptr) {
    for (int64_t i = bias_lanes; i < pieces * bias_lanes; ++i)
      bias_sums[static_cast<size_t>(i % bias_lanes)] += bias_sums[static_cast<size_t>(i)];
    add_bias_lanes(bias_sums.data(), shape_.out_channels, events, gradients.bias);
  }
  if (data_wanted) join_images(images, pieces, gradients.in, parallel);
}

/// Row y of an output plane to its places in the plane split into phases, lines padded with zeros.
void UpsampleConv3d::split_row(const float* row, int64_t y, float* phases) const {
  const int64_t line = shape_.out()[2] * kBlockEvents;
  for (const PhaseGroup& group : groups_) {
    const auto phase = std::find(group.y.begin(), group.y.end(), y % shape_.up[1]);
    if (phase == group.y.end()) continue;
    const PlaneShape& shape = group.shape;
    const int64_t channel = (phase - group.y.begin()) * static_cast<int64_t>(group.z.size()) * shape_.out_channels;
    float* to = phases + group.offset + y / shape_.up[1] * shape.in_row() + channel * shape.in_line();
    for (const int64_t pz : group.z) {
      for (int64_t c = 0; c < shape_.out_channels; ++c, to += shape.in_line()) {
        const float* const from = row + c * line + pz * kBlockEvents;
        std::fill_n(to, shape.z_begin * kBlockEvents, 0.0F);
        for (int64_t z = shape.z_begin; z < shape.z_end; ++z)
          std::memcpy(to + z * kBlockEvents, from + (z - shape.z_begin) * shape_.up[2] * kBlockEvents,
                      kBlockEvents * sizeof(float));
        std::fill_n(to + shape.z_end * kBlockEvents, (shape.in_cells - shape.z_end) * kBlockEvents, 0.0F);
      }
    }
  }
}

/// Lanes of the sums of all pairs of phase and tap along y and z, for the taps along x of one phase.
int64_t UpsampleConv3d::sum_lanes(int64_t px) const {
  return axes_[0].taps(px) * axes_[1].pairs(shape_.up[1]) * axes_[2].pairs(shape_.up[2]) * shape_.in_channels *
         shape_.out_channels * kBlockEvents;
}

/// sums += image * gradient, phase by phase in the order of the groups: [tx][ty][in][tz][out][16] each.
void UpsampleConv3d::add_weight_products(int64_t px, const float* const* in, const float* phases, float* sums) const {
  for (const PhaseGroup& group : groups_) {
    const float* gradient = phases + group.offset + group.shape.z_begin * kBlockEvents;
    for (const int64_t py : group.y) {
      for (const int64_t pz : group.z) {
        PlaneShape shape = phase_shape(px, py, pz);
        shape.out_cell = kBlockEvents, shape.out_line = group.shape.in_line(), shape.out_row = group.shape.in_row();
        plane_kernels(isa_).backward_weights(shape, in, gradient, sums);
        gradient += shape.out_channels * shape.out_line;
        sums += shape.taps() * shape.out_channels * kBlockEvents;
      }
    }
  }
}

/// [tx][(py, ty)][(pz, tz)][in][out]
std::vector<float> UpsampleConv3d::sum_over_events(int64_t px, const float* sums, int64_t events) const {
  const int64_t y_pairs = axes_[1].pairs(shape_.up[1]), z_pairs = axes_[2].pairs(shape_.up[2]);
  std::vector<float> totals(static_cast<size_t>(sum_lanes(px) / kBlockEvents));
  const auto sum = [&](const PlaneShape& shape, int64_t py, int64_t pz) {
    for (int64_t tap = 0; tap < shape.kernel_x * shape.kernel_y; ++tap) {
      const int64_t row = tap / shape.kernel_y * y_pairs + axes_[1].pairs(py) + tap % shape.kernel_y;
      for (int64_t ci = 0; ci < shape.in_channels; ++ci) {
        for (int64_t tz = 0; tz < shape.kernel_z; ++tz) {
          float* const to =
              totals.data() + ((row * z_pairs + axes_[2].pairs(pz) + tz) * shape.in_channels + ci) * shape.out_channels;
          for (int64_t c = 0; c < shape.out_channels; ++c, sums += kBlockEvents) to[c] = sum_of_lanes(sums, events);
        }
      }
    }
  };
  for (const PhaseGroup& group : groups_) {
    for (const int64_t py : group.y) {
      for (const int64_t pz : group.z) sum(phase_shape(px, py, pz), py, pz);
    }
  }
  return totals;
}

/// The pieces' sums, in their order, and the way back to the kernel's taps.
void UpsampleConv3d::join_weight_sums(const std::vector<std::vector<float>>& pieces, float* weight_gradient) const {
  std::vector<float> folded;
  for (auto piece = pieces.begin(); piece != pieces.end(); piece += kPiecesOfPhase) {
    std::vector<float> of_phase = *piece;
    for (int64_t part = 1; part < kPiecesOfPhase; ++part)
      std::transform(of_phase.begin(), of_phase.end(), piece[part].begin(), of_phase.begin(), std::plus<>());
    folded.insert(folded.end(), of_phase.begin(), of_phase.end());
  }
  unfold(folded, weight_gradient);
}

/// What one output plane, split into phases, adds to the planes of the image's gradient.
void UpsampleConv3d::add_data_gradient(int64_t px, int64_t q, const float* phases,
                                       const std::vector<AlignedFloats>& turned, float* image) const {
  const int64_t plane = shape_.in[1] * shape_.in_channels * shape_.in[2] * kBlockEvents;
  for (int64_t tx = 0; tx < axes_[0].taps(px); ++tx) {
    const auto* kernel = &turned[static_cast<size_t>(axes_[0].pairs(px) + tx) * groups_.size()];
    for (const PhaseGroup& group : groups_) {
      const float* const cells = phases + group.offset;
      plane_kernels(isa_).forward(group.shape, &cells, (kernel++)->data(), image + (q + tx) * plane, Sums::kAdd);
    }
  }
}

/// The sum of the pieces' images, in their order.
void UpsampleConv3d::join_images(const float* images, int64_t pieces, const RowSink& sink,
                                 const Parallel& parallel) const {
  const int64_t plane = shape_.in[1] * shape_.in_channels * shape_.in[2] * kBlockEvents;
  parallel(shape_.in[0], [&](int64_t x) {
    float* const rows = sink.place(x, 0, shape_.in[1]);
    for (int64_t piece = 0; piece < pieces; ++piece) {
      const float* const from = images + (piece * shape_.in[0] + x) * plane;
      for (int64_t i = 0; i < plane; ++i) rows[i] = piece == 0 ? from[i] : rows[i] + from[i];
    }
    if (sink.finish) sink.finish(x, 0, shape_.in[1], rows);
  });
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

/// The kernels of all groups, packed, for each pair (px, tx): [ty][tz][phase of y, phase of z, out][in], turned.
std::vector<AlignedFloats> UpsampleConv3d::turned_kernels(const float* weights, const Parallel& parallel) const {
  const std::vector<float> folded = fold(weights);
  std::vector<AlignedFloats> kernels(static_cast<size_t>(axes_[0].pairs(shape_.up[0])) * groups_.size());
  parallel(shape_.up[0], [&](int64_t px) {
    for (int64_t tx = 0; tx < axes_[0].taps(px); ++tx) {
      for (size_t i = 0; i < groups_.size(); ++i) {
        kernels[static_cast<size_t>(axes_[0].pairs(px) + tx) * groups_.size() + i] =
            turned_kernel_of(groups_[i], px, tx, folded);
      }
    }
  });
  return kernels;
}

AlignedFloats UpsampleConv3d::turned_kernel_of(const PhaseGroup& group, int64_t px, int64_t tx,
                                               const std::vector<float>& folded) const {
  const PlaneShape& shape = group.shape;
  const int64_t ins = shape_.in_channels, outs = shape_.out_channels;
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
  AlignedFloats packed(joined.size());
  plane_kernels(isa_).pack_weights(shape, joined.data(), packed.data());
  return packed;
}

}  // namespace linac::kernels
