#include "linac/model/kernels/batch_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "linac/base/base/rng.h"

namespace linac::kernels {
namespace {

std::vector<float> normal(size_t n, uint32_t lane) {
  std::vector<float> values(n);
  fill_normal({.seed = 1, .stream = Stream::kNoise, .lane = lane}, values);
  return values;
}

TEST(BatchNorm, MomentsKeepTheirDigitsOverManyRows) {
  // A large mean beside a small spread, over two million rows: plain float sums lose the variance here.
  constexpr int64_t kRows = 2'000'003;
  constexpr size_t kChannels = 3;
  std::vector<float> x = normal(kRows * kChannels, 0);
  double sum[kChannels] = {}, squares[kChannels] = {};
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = 5.0F + 0.01F * x[i];
    sum[i % kChannels] += x[i];
  }
  for (size_t i = 0; i < x.size(); ++i) squares[i % kChannels] += std::pow(x[i] - sum[i % kChannels] / kRows, 2);
  std::vector<double> mean(kChannels), variance(kChannels);
  channel_moments(x.data(), kRows, mean, variance);
  for (size_t c = 0; c < kChannels; ++c) {
    EXPECT_NEAR(mean[c], sum[c] / kRows, 2e-6);
    EXPECT_NEAR(variance[c] / (squares[c] / kRows), 1, 1e-4);
  }
}

class BatchNormBackward : public ::testing::TestWithParam<float> {};

TEST_P(BatchNormBackward, IsTheDerivative) {
  const float slope = GetParam();
  constexpr int64_t kRows = 37;
  constexpr size_t kChannels = 2;
  const std::vector<float> x = normal(kRows * kChannels, 1), weight = normal(kRows * kChannels, 2), gamma{1.5F, -0.5F},
                           beta{0.1F, 0.2F};
  const auto bent = [&](double value) { return value > 0 ? value : value * slope; };
  // The sum of y * weight in double, as a function of x.
  const auto loss = [&](const std::vector<double>& at) {
    double total = 0;
    for (size_t c = 0; c < kChannels; ++c) {
      double mean = 0, variance = 0;
      for (size_t i = c; i < at.size(); i += kChannels) mean += at[i] / kRows;
      for (size_t i = c; i < at.size(); i += kChannels) variance += (at[i] - mean) * (at[i] - mean) / kRows;
      for (size_t i = c; i < at.size(); i += kChannels)
        total += weight[i] * bent((at[i] - mean) / std::sqrt(variance + 1e-6) * gamma[c] + beta[c]);
    }
    return total;
  };
  std::vector<double> mean(kChannels), variance(kChannels), inverse;
  channel_moments(x.data(), kRows, mean, variance);
  for (const double value : variance) inverse.push_back(1 / std::sqrt(value + 1e-6));
  std::vector<double> gamma_gradient(kChannels), beta_gradient(kChannels);
  std::vector<float> x_gradient(x.size());
  batch_norm_backward(x.data(), weight.data(), kRows, mean, inverse,
                      {.gamma = gamma, .beta = beta, .negative_slope = slope},
                      {gamma_gradient, beta_gradient, x_gradient.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    std::vector<double> up(x.begin(), x.end()), down = up;
    up[i] += 1e-4;
    down[i] -= 1e-4;
    EXPECT_NEAR(x_gradient[i], (loss(up) - loss(down)) / 2e-4, 1e-4);
  }
  std::vector<float> scale, y(x.size());
  for (size_t c = 0; c < kChannels; ++c) scale.push_back(static_cast<float>(gamma[c] * inverse[c]));
  channel_normalize(x.data(), kRows, mean, scale, beta, slope, y.data());
  double beta_sum = 0;
  for (size_t i = 0; i < weight.size(); ++i) {
    const size_t c = i % kChannels;
    const double normal = (x[i] - mean[c]) * inverse[c] * gamma[c] + beta[c];
    EXPECT_NEAR(y[i], bent(normal), 1e-5);
    if (c == 0) beta_sum += weight[i] * (normal > 0 ? 1 : slope);
  }
  EXPECT_NEAR(beta_gradient[0], beta_sum, 1e-4);
}

INSTANTIATE_TEST_SUITE_P(Slopes, BatchNormBackward, ::testing::Values(1.0F, 0.0F, 0.3F));

}  // namespace
}  // namespace linac::kernels
