#include "linac/model/kernels/upsample_conv.h"

#include <algorithm>
#include <functional>

#include "linac/base/base/error.h"
#include "linac/model/kernels/direct_conv.h"
#include "linac/model/kernels/row_kernels.h"

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
  for (int64_t pz = 0; pz < shape.up[2]; ++pz) {
    z_counts_.push_back(axes_[2].count(pz));
    z_taps_.push_back(axes_[2].taps(pz));
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
          kernels.forward(shape, 0, shape.out_y, planes.data() + x / up[0], next,
                          plane + py * (shape.out_row / up[1]) + pz * kBlockEvents, Stores::kIntoCaches, nullptr);
        }
        next += shape.taps() * shape.out_channels;
      }
    }
    if (out.finish) out.finish(x, 0, extent[1], plane);
  });
}

/// Where a piece of the backward pass lies along x.
struct UpsampleConv3d::Piece {
  int64_t px, begin, end;  // output planes up q + px, begin <= q < end
};

UpsampleConv3d::Piece UpsampleConv3d::piece(int64_t number) const {
  const int64_t px = number / kPiecesOfPhase, part = number % kPiecesOfPhase;
  const int64_t count = std::max<int64_t>(0, axes_[0].count(px));
  return {px, part * count / kPiecesOfPhase, (part + 1) * count / kPiecesOfPhase};
}

/// A piece of work is some output planes of one phase along x. Of these, the rows of one phase along y are used for
/// both gradients, where they lie, while those of the next plane are fetched: few enough that they, the image's planes
/// and the weights' sums stay in the L2 cache.
void UpsampleConv3d::backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                              const ConvGradients& gradients, ConvWorkspace& workspace,
                              const Parallel& parallel) const {
  const bool data_wanted = static_cast<bool>(gradients.in.place), weights_wanted = gradients.weights != nullptr;
  const Planes planes = weights_wanted ? gather(in, shape_.in, shape_.in_channels, workspace.in, parallel) : Planes();
  const std::vector<AlignedFloats> packed =
      data_wanted ? phase_kernels(weights, parallel) : std::vector<AlignedFloats>();
  const RowShape row{1, shape_.out_channels, shape_.out()[2]};
  const int64_t pieces = shape_.up[0] * kPiecesOfPhase, bias_lanes = shape_.out_channels * 2 * kBlockEvents,
                image = piece_planes() * image_plane();
  std::vector<double> bias_sums(static_cast<size_t>(pieces * bias_lanes));
  std::vector<std::vector<float>> weight_sums(static_cast<size_t>(pieces));
  float* const images = grown(workspace.out, data_wanted ? pieces * image : 0);
  parallel(pieces, [&](int64_t number) {
    const Piece here = piece(number);
    std::vector<float>& totals = weight_sums[static_cast<size_t>(number)];
    if (weights_wanted) totals.resize(static_cast<size_t>(totals_of(here.px)));
    if (data_wanted) std::fill_n(images + number * image, image, 0.0F);
    for (int64_t py = 0; py < shape_.up[1] && axes_[1].count(py) > 0; ++py) {
      const int64_t lanes = weights_wanted ? sum_lanes(here.px, py) : 0;
      float* const sums = thread_scratch(Scratch::kSums, lanes);
      std::fill_n(sums, lanes, 0.0F);
      for (int64_t q = here.begin; q < here.end; ++q) {
        const PhaseRows rows = read_phase(out_gradient, q * shape_.up[0] + here.px, py);
        ReadAhead ahead = next_phase(out_gradient, rows, here, q, py);
        for (int64_t r = 0; r < rows.count && gradients.bias != nullptr; ++r)
          row_kernels(isa_).add_cells(row, rows.first + r * rows.step, bias_sums.data() + number * bias_lanes);
        if (weights_wanted) add_weight_products(here.px, py, planes.data() + q, rows, sums, ahead);
        if (data_wanted) {
          ahead.lines = ahead.rows * row.vectors();
          plane_kernels(isa_).phase_gradient(phase_gradient_shape(here.px, py, rows), rows.first,
                                             packed[static_cast<size_t>(here.px * shape_.up[1] + py)].data(),
                                             images + number * image + (q - here.begin) * image_plane(), ahead);
        }
      }
      if (weights_wanted) sum_over_events(here.px, py, sums, events, totals);
    }
  });
  if (weights_wanted) join_weight_sums(weight_sums, gradients.weights);
  if (gradients.bias != nullptr) {
    for (int64_t i = bias_lanes; i < pieces * bias_lanes; ++i)
      bias_sums[static_cast<size_t>(i % bias_lanes)] += bias_sums[static_cast<size_t>(i)];
    add_bias_lanes(bias_sums.data(), shape_.out_channels, events, gradients.bias);
  }
  if (data_wanted) join_images(images, gradients.in, parallel);
}

/// The rows of one phase along y of output plane x, where they lie or in this thread's memory.
UpsampleConv3d::PhaseRows UpsampleConv3d::read_phase(const ReadRows& out_gradient, int64_t x, int64_t py) const {
  const int64_t floats = out_row();
  PhaseRows rows{nullptr, floats, std::max<int64_t>(0, axes_[1].count(py)), false};
  float* const scratch = thread_scratch(Scratch::kPlane, axes_[1].count(0) * floats);
  for (int64_t r = 0; r < rows.count; ++r) {
    const float* const row = out_gradient(x, r * shape_.up[1] + py, 1, scratch + r * floats);
    if (r == 0) rows.first = row, rows.in_place = row != scratch;
    if (r == 1) rows.step = row - rows.first;
    LINAC_CHECK(row == rows.first + r * rows.step);
  }
  return rows;
}

/// The rows that the piece needs after those of plane q and phase py, if they need not be computed.
ReadAhead UpsampleConv3d::next_phase(const ReadRows& out_gradient, const PhaseRows& rows, const Piece& piece, int64_t q,
                                     int64_t py) const {
  const bool plane_left = q + 1 < piece.end;
  if (!rows.in_place || (!plane_left && py + 1 == shape_.up[1])) return {};
  const PhaseRows next =
      read_phase(out_gradient, (plane_left ? q + 1 : piece.begin) * shape_.up[0] + piece.px, plane_left ? py : py + 1);
  return {next.first, next.count, out_row(), next.step};
}

/// Lanes of the sums of all pairs of phase and tap along z, for the taps along x and y of one phase.
int64_t UpsampleConv3d::sum_lanes(int64_t px, int64_t py) const {
  return axes_[0].taps(px) * axes_[1].taps(py) * tap_row() * kBlockEvents;
}

/// sums += image * gradient, phase by phase along z: [tx][ty][in][tz][out][16] each.
void UpsampleConv3d::add_weight_products(int64_t px, int64_t py, const float* const* in, const PhaseRows& rows,
                                         float* sums, ReadAhead& ahead) const {
  ahead.lines = ahead.rows * out_row() / kBlockEvents / shape_.up[2] + 1;
  for (int64_t pz = 0; pz < shape_.up[2]; ++pz) {
    PlaneShape shape = phase_shape(px, py, pz);
    shape.out_row = rows.step;
    if (shape.out_y > 0 && shape.out_z > 0)
      plane_kernels(isa_).backward_weights(shape, in, rows.first + pz * kBlockEvents, sums, ahead);
    sums += shape.taps() * shape.out_channels * kBlockEvents;
  }
}

/// To `totals`, of phase px: [tx][(py, ty)][(pz, tz)][in][out].
void UpsampleConv3d::sum_over_events(int64_t px, int64_t py, const float* sums, int64_t events,
                                     std::vector<float>& totals) const {
  const int64_t y_pairs = axes_[1].pairs(shape_.up[1]);
  for (int64_t pz = 0; pz < shape_.up[2]; ++pz) {
    const PlaneShape shape = phase_shape(px, py, pz);
    for (int64_t tap = 0; tap < shape.kernel_x * shape.kernel_y; ++tap) {
      const int64_t row = tap / shape.kernel_y * y_pairs + axes_[1].pairs(py) + tap % shape.kernel_y;
      for (int64_t ci = 0; ci < shape.in_channels; ++ci) {
        for (int64_t tz = 0; tz < shape.kernel_z; ++tz) {
          float* const to = totals.data() + row * tap_row() +
                            ((axes_[2].pairs(pz) + tz) * shape.in_channels + ci) * shape.out_channels;
          for (int64_t c = 0; c < shape.out_channels; ++c, sums += kBlockEvents) to[c] = sum_of_lanes(sums, events);
        }
      }
    }
  }
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

PhaseShape UpsampleConv3d::phase_gradient_shape(int64_t px, int64_t py, const PhaseRows& rows) const {
  PhaseShape shape{};
  shape.rows = rows.count, shape.row_step = rows.step;
  shape.out_channels = shape_.out_channels, shape.out_line = shape_.out()[2] * kBlockEvents, shape.up = shape_.up[2];
  shape.counts = z_counts_.data(), shape.taps = z_taps_.data();
  shape.taps_x = axes_[0].taps(px), shape.taps_y = axes_[1].taps(py), shape.taps_z = axes_[2].pairs(shape_.up[2]);
  shape.in_channels = shape_.in_channels, shape.in_cells = shape_.in[2];
  shape.image_line = shape_.in[2] * kBlockEvents, shape.image_row = shape_.in_channels * shape.image_line;
  shape.image_plane = image_plane();
  return shape;
}

/// The folded kernels of each pair (px, py), packed for phase_gradient.
std::vector<AlignedFloats> UpsampleConv3d::phase_kernels(const float* weights, const Parallel& parallel) const {
  const std::vector<float> folded = fold(weights);
  const int64_t y_pairs = axes_[1].pairs(shape_.up[1]);
  std::vector<AlignedFloats> kernels(static_cast<size_t>(shape_.up[0] * shape_.up[1]));
  parallel(static_cast<int64_t>(kernels.size()), [&](int64_t phase) {
    const int64_t px = phase / shape_.up[1], py = phase % shape_.up[1];
    const int64_t rows = axes_[1].taps(py) * tap_row();
    std::vector<float> kernel;
    for (int64_t tx = 0; tx < axes_[0].taps(px); ++tx) {
      const auto first = folded.begin() + ((axes_[0].pairs(px) + tx) * y_pairs + axes_[1].pairs(py)) * tap_row();
      kernel.insert(kernel.end(), first, first + rows);
    }
    AlignedFloats& packed = kernels[static_cast<size_t>(phase)];
    packed.resize(kernel.size());
    plane_kernels(isa_).pack_phase(phase_gradient_shape(px, py, {}), kernel.data(), packed.data());
  });
  return kernels;
}

/// Planes of the image's gradient that the longest piece adds to.
int64_t UpsampleConv3d::piece_planes() const {
  int64_t most = 0;
  for (int64_t number = 0; number < shape_.up[0] * kPiecesOfPhase; ++number) {
    const Piece here = piece(number);
    most = std::max(most, here.end - here.begin + axes_[0].taps(here.px) - 1);
  }
  return most;
}

/// The sum of the pieces' images, in their order.
void UpsampleConv3d::join_images(const float* images, const RowSink& sink, const Parallel& parallel) const {
  const int64_t floats = image_plane(), planes = piece_planes();
  parallel(shape_.in[0], [&](int64_t x) {
    float* const rows = sink.place(x, 0, shape_.in[1]);
    std::fill_n(rows, floats, 0.0F);
    for (int64_t number = 0; number < shape_.up[0] * kPiecesOfPhase; ++number) {
      const Piece from = piece(number);
      if (x < from.begin || x >= from.end + axes_[0].taps(from.px) - 1 || from.begin == from.end) continue;
      const float* const plane = images + (number * planes + x - from.begin) * floats;
      for (int64_t i = 0; i < floats; ++i) rows[i] += plane[i];
    }
    if (sink.finish) sink.finish(x, 0, shape_.in[1], rows);
  });
}

}  // namespace linac::kernels
