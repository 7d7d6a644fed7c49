#pragma once
// Batch normalisation over rows of channels (channels last), in training. Sums over millions of rows are kept in double
// every few rows: plain float sums lose three to four digits there. One thread, pure, thread-safe; sums follow one
// fixed order and no fused multiply-add is used, so every instruction set gives the same bits.

#include <cstdint>
#include <functional>
#include <span>

namespace linac::kernels {

/// Mean and biased variance of each channel of x, [rows][channels]; `mean` and `variance` have `channels` values.
void channel_moments(const float* x, int64_t rows, std::span<double> mean, std::span<double> variance);

/// y = (x - mean) * scale + shift by channel, then times `negative_slope` where it is below zero (1: it stays). Sizes
/// as above. The mean is taken off first: a shower is empty in most cells, and there the rounding of x * scale + (shift
/// - mean * scale) would be the same in all of them and add up.
void channel_normalize(const float* x, int64_t rows, std::span<const double> mean, std::span<const float> scale,
                       std::span<const float> shift, float negative_slope, float* y);

struct BatchNormGradients {
  std::span<double> gamma, beta;  // [channels], overwritten
  float* x;                       // [rows][channels], overwritten
};

/// What stands behind the moments of a batch, by channel.
struct BatchNormSettings {
  std::span<const float> gamma, beta;
  float negative_slope = 1;  // see channel_normalize()
  /// Of a batch whose rows are in several places: adds the sums of all of them to those of the rows here, and says how
  /// many rows these are. Empty: all rows are here.
  std::function<int64_t(std::span<double> gamma, std::span<double> beta)> join_sums{};
};

/// Backward of channel_normalize() with scale = gamma * inverse_deviation and shift = beta, where mean and deviation
/// are those of all rows; `out` has the gradients of the rows here alone.
void batch_norm_backward(const float* x, const float* y_gradient, int64_t rows, std::span<const double> mean,
                         std::span<const double> inverse_deviation, const BatchNormSettings& settings,
                         const BatchNormGradients& out);

}  // namespace linac::kernels
