#pragma once
// Nearest up-sampling by (u, v, w) followed by a convolution without padding, as one operation on the small image:
// output cells of one phase (their index modulo u, v, w) all see the same few input cells, under kernels that are sums
// of the given one's taps. Exact but for the order of summation. For the 3DGAN's first layer, up-sampling by 6 and a
// kernel of 6x6x8, this is 1/33 of the multiplications.

#include <array>
#include <vector>

#include "linac/kernels/blocked_conv.h"
#include "linac/kernels/plane_kernels.h"

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
  /// Phases with the same cells and taps along y and along z: channels of one image.
  struct PhaseGroup {
    std::vector<int64_t> y, z;
    PlaneShape shape;  // towards the data
    int64_t offset;    // in floats, in an output plane split into phases
  };
  static std::vector<std::vector<int64_t>> alike(const PhaseAxis& axis);
  PlaneShape turned_shape(const PhaseGroup& group) const;
  std::vector<AlignedFloats> turned_kernels(const float* weights, const Parallel& parallel) const;
  AlignedFloats turned_kernel_of(const PhaseGroup& group, int64_t px, int64_t tx,
                                 const std::vector<float>& folded) const;
  void split_row(const float* row, int64_t y, float* phases) const;
  int64_t sum_lanes(int64_t px) const;
  void add_weight_products(int64_t px, const float* const* in, const float* phases, float* sums) const;
  std::vector<float> sum_over_events(int64_t px, const float* sums, int64_t events) const;
  void join_weight_sums(const std::vector<std::vector<float>>& pieces, float* weight_gradient) const;
  void add_data_gradient(int64_t px, int64_t q, const float* phases, const std::vector<AlignedFloats>& turned,
                         float* image) const;
  void join_images(const float* images, int64_t pieces, const RowSink& sink, const Parallel& parallel) const;

  UpsampleShape shape_;
  std::array<PhaseAxis, 3> axes_;
  Isa isa_;
  std::vector<PhaseGroup> groups_;
  int64_t phase_floats_ = 0;  // of an output plane split into phases
};

}  // namespace linac::kernels
