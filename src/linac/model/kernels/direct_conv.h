#pragma once
// The direct algorithm of blocked_conv.h: for kernels of few taps, where transforms would cost more than they save. A
// tile of cells along z times output channels stays in registers (plane_tiles-inl.h); only the kernel's few planes of
// x are held at a time, in lines padded along z.

#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/plane_kernels.h"

namespace linac::kernels {

class DirectConv3d final : public BlockedConv3d {
 public:
  explicit DirectConv3d(const Conv3dShape& shape, Isa isa = best_isa());

  void forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace& workspace,
               const Parallel& parallel) const override;
  void backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                const ConvGradients& gradients, ConvWorkspace& workspace, const Parallel& parallel) const override;

 private:
  void backward_weights(const ReadRows& in, const ReadRows& out_gradient, int64_t events,
                        const ConvGradients& gradients, const Parallel& parallel) const;
  bool narrow() const;
  void narrow_forward(const ReadRows& in, const float* weights, const RowSink& out, const Parallel& parallel) const;

  Conv3dShape shape_;
  Isa isa_;
};

float sum_of_lanes(const float* lanes, int64_t events);
/// bias[c] = sum over the first `events` lanes of sums[c][.][lane], the first of a pair of sums of row_kernels.h.
void add_bias_lanes(const double* sums, int64_t channels, int64_t events, float* bias);

}  // namespace linac::kernels
