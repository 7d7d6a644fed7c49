#pragma once
// Nearest up-sampling by (u, v, w) followed by a convolution without padding, as one operation on the small image:
// output cells of one phase (their index modulo u, v, w) all see the same few input cells, under kernels that are sums
// of the given one's taps. Exact but for the order of summation. For the 3DGAN's first layer, up-sampling by 6 and a
// kernel of 6x6x8, this is 1/33 of the multiplications.

#include <array>
#include <vector>

#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/plane_kernels.h"

namespace linac::kernels {

struct UpsampleShape {
  Extent3 in;  // before up-sampling
  int64_t in_channels;
  Extent3 up;
  Extent3 kernel;
  int64_t out_channels;

  Extent3 out() const;
};

/// One axis: output u q + p reads the input cells q ... q + taps(p) - 1.
struct PhaseAxis {
  int64_t in, up, kernel;

  int64_t out() const { return in * up - kernel + 1; }
  int64_t count(int64_t phase) const { return (out() - phase + up - 1) / up; }
  int64_t taps(int64_t phase) const { return (phase + kernel - 1) / up + 1; }
  /// Number of (phase, tap) pairs before `phase`; of all for phase = up.
  int64_t pairs(int64_t phase) const;
};

class UpsampleConv3d final : public BlockedConv3d {
 public:
  /// Extents positive, output not empty.
  explicit UpsampleConv3d(const UpsampleShape& shape, Isa isa = best_isa());

  void forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace& workspace,
               const Parallel& parallel) const override;
  void backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                const ConvGradients& gradients, ConvWorkspace& workspace, const Parallel& parallel) const override;

 private:
  using Planes = std::vector<const float*>;

  Planes gather(const ReadRows& read, const Extent3& extent, int64_t channels, AlignedFloats& buffer,
                const Parallel& parallel) const;
  std::vector<float> fold(const float* weights) const;
  void unfold(const std::vector<float>& folded, float* weight_gradient) const;
  PlaneShape phase_shape(int64_t px, int64_t py, int64_t pz) const;
  std::vector<float> phase_kernel(const std::vector<float>& folded, int64_t px, int64_t py, int64_t pz) const;
  /// Rows of one phase along y of an output plane.
  struct PhaseRows {
    const float* first = nullptr;
    int64_t step = 0, count = 0;  // floats from one to the next
    bool in_place = false;
  };
  struct Piece;
  Piece piece(int64_t number) const;
  int64_t piece_planes() const;
  PhaseRows read_phase(const ReadRows& out_gradient, int64_t x, int64_t py) const;
  ReadAhead next_phase(const ReadRows& out_gradient, const PhaseRows& rows, const Piece& piece, int64_t q,
                       int64_t py) const;
  int64_t sum_lanes(int64_t px, int64_t py) const;
  void add_weight_products(int64_t px, int64_t py, const float* const* in, const PhaseRows& rows, float* sums,
                           ReadAhead& ahead) const;
  void sum_over_events(int64_t px, int64_t py, const float* sums, int64_t events, std::vector<float>& totals) const;
  void join_weight_sums(const std::vector<std::vector<float>>& pieces, float* weight_gradient) const;
  PhaseShape phase_gradient_shape(int64_t px, int64_t py, const PhaseRows& rows) const;
  std::vector<AlignedFloats> phase_kernels(const float* weights, const Parallel& parallel) const;
  void join_images(const float* images, const RowSink& sink, const Parallel& parallel) const;

  int64_t image_plane() const { return shape_.in[1] * shape_.in_channels * shape_.in[2] * kBlockEvents; }  // floats
  int64_t out_row() const { return shape_.out_channels * shape_.out()[2] * kBlockEvents; }                 // floats
  /// Folded taps of one (px, tx) and (py, ty): [(pz, tz)][in][out].
  int64_t tap_row() const { return axes_[2].pairs(shape_.up[2]) * shape_.in_channels * shape_.out_channels; }
  /// Of one px: [tx][(py, ty)][(pz, tz)][in][out].
  int64_t totals_of(int64_t px) const { return axes_[0].taps(px) * axes_[1].pairs(shape_.up[1]) * tap_row(); }

  UpsampleShape shape_;
  std::array<PhaseAxis, 3> axes_;
  Isa isa_;
  std::vector<int64_t> z_counts_, z_taps_;  // of each phase along z
};

}  // namespace linac::kernels
