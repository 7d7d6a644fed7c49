#pragma once
// 3-D convolution through Fourier transforms of planes (stride 1), for kernels of many taps: the planes of constant x
// are transformed along z and y, and at each frequency a short convolution along x remains (Zlateski, Jia, Li, Durand,
// "FFT convolutions are faster than Winograd on modern CPUs, here's why", arXiv:1809.07851, with one axis left
// direct).
//
// Bytes and order: all planes are transformed along z first; then each frequency of z is a slab that is transformed
// along y, multiplied and transformed back by itself; then all planes are transformed back along z. Slabs and planes
// are independent, so they may be computed by any number of threads: the result depends on the shape alone.

#include <cstdint>
#include <vector>

#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/correlation.h"
#include "linac/model/kernels/spectral_kernels.h"

namespace linac::kernels {

class SpectralConv3d final : public BlockedConv3d {
 public:
  /// Whether the transforms' sizes exist for this shape.
  static bool possible(const Conv3dShape& shape);
  /// Vector multiply-adds (of 16 floats) of the forward pass, transforms counted by their operations.
  static double operations(const Conv3dShape& shape);

  /// `shape` must be possible.
  explicit SpectralConv3d(const Conv3dShape& shape, Isa isa = best_isa());

  void forward(const ReadRows& in, const float* weights, const RowSink& out, ConvWorkspace& workspace,
               const Parallel& parallel) const override;
  void backward(const ReadRows& in, const ReadRows& out_gradient, const float* weights, int64_t events,
                const ConvGradients& gradients, ConvWorkspace& workspace, const Parallel& parallel) const override;

 private:
  struct Transform {  // along one axis
    FftPlan plan{};
    std::vector<float> twiddles;
    std::vector<float> roots;  // [size][2]: exp(-2 pi i k / size)
    explicit Transform(int64_t size);
  };

  void transform_z(const ReadRows& read, const Extent3& extent, int64_t channels, float* spectra,
                   const Parallel& parallel) const;
  void inverse_z(const float* spectra, const Extent3& extent, int64_t channels, int64_t offset, const RowSink& sink,
                 const Parallel& parallel) const;
  void transform_slab(const Correlation& direction, const float* spectra, int64_t first, int64_t planes, float* slab,
                      int64_t step) const;
  void correlate_window(const Correlation& direction, const float* weights, const float* window, int64_t window_step,
                        int64_t x, int64_t count, float* out) const;
  int64_t window_planes(const Correlation& direction) const;
  void both_slabs(const Correlation& backwards, const float* turned, int64_t bin, const float* image,
                  const float* out_gradient, int64_t events, float* partial, float* bias, float* in_gradient) const;
  void correlate_slab(const Correlation& direction, const float* weights, int64_t bin, const float* spectra,
                      float* out) const;
  void weight_gradient_slab(const float* image_slab, const float* gradient_slab, int64_t gradient_frequency,
                            int64_t events, float* partial) const;
  void sum_weight_gradient(const std::vector<float>& partials, float* weight_gradient) const;
  void bias_gradient_slab(const float* gradient_slab, int64_t first, int64_t events, float* bias) const;
  /// Of one bin along z.
  static int64_t spectrum_floats(const Extent3& extent, int64_t channels);
  std::vector<float> kernel_spectrum(const Correlation& direction, const float* weights, int64_t bin) const;

  Conv3dShape shape_;
  const SpectralKernels& kernels_;
  Transform y_, z_;
};

}  // namespace linac::kernels
