#include "linac/physics/physics/resolution.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/rng.h"

namespace linac::physics {
namespace {

std::vector<float> gaussian(size_t n, uint32_t lane, float mean, float width) {
  std::vector<float> values(n);
  fill_normal({.seed = 11, .lane = lane}, values);
  for (float& value : values) value = mean + width * value;
  return values;
}

TEST(GaussianCore, IsTheGaussian) {
  const auto core = gaussian_core(gaussian(20'000, 0, 5, 0.5));
  ASSERT_TRUE(core);
  EXPECT_NEAR(core->mean, 5, 4 * core->mean_error);
  EXPECT_NEAR(core->width, 0.5, 4 * core->width_error);
  EXPECT_NEAR(static_cast<double>(core->events) / 20'000, 0.9545, 0.01);
}

TEST(GaussianCore, TailsDoNotCount) {
  std::vector<float> values = gaussian(2000, 1, 1, 0.1F);
  for (int i = 0; i < 60; ++i) values.push_back(0.02F * static_cast<float>(i % 20));  // leaked
  double squares = 0;
  for (const float value : values) squares += (value - 1.0) * (value - 1.0) / static_cast<double>(values.size());
  EXPECT_GT(std::sqrt(squares), 0.15) << "of all values";
  const auto core = gaussian_core(values);
  ASSERT_TRUE(core);
  EXPECT_NEAR(core->width, 0.1, 0.01);
  EXPECT_NEAR(core->mean, 1, 0.01);
}

TEST(GaussianCore, ItsErrorsAreItsSpread) {
  constexpr int kSamples = 400;
  double mean_squares = 0, width_squares = 0, mean_error = 0, width_error = 0;
  for (uint32_t sample = 0; sample < kSamples; ++sample) {
    const auto core = gaussian_core(gaussian(400, 100 + sample, 0, 1));
    mean_squares += core->mean * core->mean / kSamples;
    width_squares += (core->width - 1) * (core->width - 1) / kSamples;
    mean_error += core->mean_error / kSamples;
    width_error += core->width_error / kSamples;
  }
  EXPECT_NEAR(std::sqrt(mean_squares) / mean_error, 1, 0.1);
  EXPECT_NEAR(std::sqrt(width_squares) / width_error, 1, 0.1);
}

TEST(GaussianCore, FewOrEqualValues) {
  EXPECT_FALSE(gaussian_core(std::vector<float>(9, 1)));
  EXPECT_FALSE(gaussian_core(std::vector<float>(20, std::nanf(""))));
  const auto equal = gaussian_core(std::vector<float>(20, 0.25F));
  ASSERT_TRUE(equal);
  EXPECT_EQ(equal->mean, 0.25);
  EXPECT_EQ(equal->width, 0);
}

std::vector<ResolutionPoint> points(double a, double b, double c) {
  std::vector<ResolutionPoint> made;
  for (const double energy : {1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0}) {
    const double resolution = std::sqrt(a * a / energy + b * b + c * c / (energy * energy));
    made.push_back({energy, resolution, 0.01 * resolution});
  }
  return made;
}

TEST(FitResolution, FindsItsTerms) {
  const auto fit = fit_resolution(points(0.16, 0.01, 0.3));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->stochastic.value, 0.16, 1e-6);
  EXPECT_NEAR(fit->constant.value, 0.01, 1e-6);
  EXPECT_NEAR(fit->noise.value, 0.3, 1e-6);
  EXPECT_GT(fit->noise.error, 0);
  EXPECT_LT(fit->noise.error, 0.02);
  EXPECT_NEAR(fit->chi2, 0, 1e-9);
  EXPECT_EQ(fit->degrees, 4);
  EXPECT_NEAR(fit->at(20), std::hypot(0.16 / std::sqrt(20), 0.01, 0.3 / 20), 1e-9);
}

// Each is known to a tenth of itself; weighted by what was measured, the low ones would draw the fit to 0.043.
TEST(FitResolution, LowPointsWeighNoMore) {
  std::vector<ResolutionPoint> made;
  for (int i = 0; i < 40; ++i) {
    const double resolution = i % 2 == 0 ? 0.04 : 0.08;
    made.push_back({10.0 * (1 + i / 2), resolution, 0.1 * resolution});
  }
  const auto fit = fit_resolution(made);
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->at(100), std::sqrt((0.04 * 0.04 + 0.08 * 0.08) / 2), 0.002);
}

TEST(FitResolution, NoTermIsBelowZero) {
  std::vector<ResolutionPoint> falling = points(0.16, 0, 0);
  for (ResolutionPoint& point : falling) point.resolution *= std::pow(point.energy_gev, -0.1);  // faster than 1/sqrt(E)
  const auto fit = fit_resolution(falling);
  ASSERT_TRUE(fit);
  EXPECT_EQ(fit->constant.value, 0);
  EXPECT_EQ(fit->constant.error, 0);
  EXPECT_GT(fit->noise.value, 0);
}

TEST(FitResolution, NeedsPointsWithErrors) {
  std::vector<ResolutionPoint> made = points(0.1, 0.1, 0);
  for (size_t i = 0; i < 4; ++i) made[i].error = 0;
  EXPECT_FALSE(fit_resolution(made)) << "three are left";
  EXPECT_FALSE(fit_resolution({}));
}

}  // namespace
}  // namespace linac::physics
