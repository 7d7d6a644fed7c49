#include "linac/physics/physics/two_sample.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linac::physics {
namespace {

TEST(TwoSample, ClosedForms) {
  // {0, 1} against {1, 3}: cumulative differences 1/2 over [0, 1), 0 at [1, 3) after both ones, ...
  const std::vector<float> values{0, 1, 1, 3}, a{1, 1, 0, 0}, b{0, 0, 1, 1};
  const auto d = two_sample(values, a, b, {0, 4, 4});
  EXPECT_DOUBLE_EQ(d.ks, 0.5);
  EXPECT_DOUBLE_EQ(d.wasserstein, 0.5 * 1 + 0.5 * 2);
  EXPECT_DOUBLE_EQ(d.separation, 0.5 * (0.5 + 0.5));
  EXPECT_DOUBLE_EQ(d.chi2_per_ndf, (1.0 + 0 + 1.0) / 2);
}

TEST(TwoSample, EqualSamplesDoNotDiffer) {
  const std::vector<float> values{1, 1, 2, 2, 5, 5}, a{1, 0, 1, 0, 1, 0}, b{0, 1, 0, 1, 0, 1};
  const auto d = two_sample(values, a, b, {0, 6, 3});
  EXPECT_EQ(d.ks, 0);
  EXPECT_EQ(d.wasserstein, 0);
  EXPECT_EQ(d.separation, 0);
  EXPECT_EQ(d.chi2_per_ndf, 0);
}

TEST(TwoSample, AWeightOfTwoIsTheEventTwice) {
  const auto twice =
      two_sample(std::vector<float>{1, 2, 3}, std::vector<float>{2, 0, 1}, std::vector<float>{0, 1, 0}, {0, 4, 4});
  const auto listed = two_sample(std::vector<float>{1, 1, 2, 3}, std::vector<float>{1, 1, 0, 1},
                                 std::vector<float>{0, 0, 1, 0}, {0, 4, 4});
  EXPECT_DOUBLE_EQ(twice.ks, listed.ks);
  EXPECT_DOUBLE_EQ(twice.wasserstein, listed.wasserstein);
  EXPECT_DOUBLE_EQ(twice.chi2_per_ndf, listed.chi2_per_ndf);
}

TEST(TwoSample, AShiftIsTheWassersteinDistance) {
  std::vector<float> values, a, b;
  for (int i = 0; i < 100; ++i) {
    values.push_back(static_cast<float>(i));
    a.push_back(i < 90 ? 1 : 0);
    b.push_back(i >= 10 ? 1 : 0);
  }
  EXPECT_NEAR(two_sample(values, a, b, {0, 100, 10}).wasserstein, 10, 1e-9);
}

TEST(TwoSample, AnEmptySampleHasNoDistance) {
  const std::vector<float> values{1, 2}, none{0, 0}, all{1, 1};
  EXPECT_EQ(two_sample(values, none, all, {0, 3, 3}).ks, 0);
}

TEST(Binning, KeepsWhatLiesOutside) {
  const Binning binning{0, 10, 5};
  EXPECT_EQ(binning.bin_of(-3), 0U);
  EXPECT_EQ(binning.bin_of(10), 4U);
  EXPECT_EQ(binning.bin_of(5), 2U);
  EXPECT_EQ(central_binning(std::vector<float>{7, 7, 7}, 3).bin_of(7), 1U);
}

TEST(Profiles, RelativeDistanceAndWorstLayer) {
  const std::vector<double> reference{1, 10, 8, 1}, profile{2, 11, 8, 0};
  EXPECT_DOUBLE_EQ(relative_distance(profile, reference), 3.0 / 20);
  EXPECT_NEAR(worst_deviation(profile, reference, 0.9), 0.1, 1e-12);  // of the two in the middle
  EXPECT_NEAR(worst_deviation(profile, reference, 1), 1, 1e-12);
}

TEST(Separation, IsOneForHistogramsApart) {
  EXPECT_DOUBLE_EQ(separation(std::vector<double>{1, 0}, std::vector<double>{0, 5}), 1);
  EXPECT_DOUBLE_EQ(separation(std::vector<double>{2, 2}, std::vector<double>{1, 1}), 0);
}

}  // namespace
}  // namespace linac::physics
