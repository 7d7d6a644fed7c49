#pragma once
// Batch normalisation over rows of channels (channels last), in training. Sums over millions of rows are kept in double
// every few rows: plain float sums lose three to four digits there. One thread, pure, thread-safe; sums follow one
// fixed order and no fused multiply-add is used, so every instruction set gives the same bits.

#include <cstdint>
#include <span>

namespace linac::kernels {

/// Mean and biased variance of each channel of x, [rows][channels]; `mean` and `variance` have `channels` values.
void channel_moments(const float* x, int64_t rows, std::span<double> mean, std::span<double> variance);

/// y = (x - mean) * scale + shift by channel. Sizes as above. The mean is taken off first: a shower is empty in most
/// cells, and there the rounding of x * scale + (shift - mean * scale) would be the same in all of them and add up.
void channel_normalize(const float* x, int64_t rows, std::span<const double> mean, std::span<const float> scale,
                       std::span<const float> shift, float* y);

struct BatchNormGradients {
  std::span<double> gamma, beta;  // [channels], overwritten
  float* x;                       // [rows][channels], overwritten
};

/// Backward of y = (x - mean) * inverse_deviation * gamma + beta, where mean and deviation are those of x itself.
void batch_norm_backward(const float* x, const float* y_gradient, int64_t rows, std::span<const double> mean,
                         std::span<const double> inverse_deviation, std::span<const float> gamma,
                         const BatchNormGradients& out);

}  // namespace linac::kernels
