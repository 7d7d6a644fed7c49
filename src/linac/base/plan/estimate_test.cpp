#include "linac/base/plan/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linac::plan {
namespace {

TEST(Estimate, FourOfFiveAreBetweenTheEnds) {
  const Estimate estimate{10, 0.2};
  const Interval interval = estimate.interval();
  EXPECT_NEAR(estimate.no_more_than(interval.high) - estimate.no_more_than(interval.low), 0.8, 1e-9);
  EXPECT_NEAR(estimate.no_more_than(10), 0.5, 1e-12);
  EXPECT_NEAR(Estimate::of(interval).spread, 0.2, 1e-12);
  EXPECT_EQ((Estimate{10, 0}).no_more_than(10), 1);
  EXPECT_EQ((Estimate{10, 0}).no_more_than(9.99), 0);
  EXPECT_EQ((Estimate{0, 0}).no_more_than(0), 1);
}

TEST(Estimate, SumsErrIndependently) {
  const Estimate parts[] = {{3, 0.1}, {4, 0.1}, {0, 5}};
  const Estimate whole = sum(parts);
  EXPECT_DOUBLE_EQ(whole.middle, 7);
  EXPECT_NEAR(whole.spread, 0.1 * 5 / 7, 1e-12);
  EXPECT_NEAR(product({2, 0.3}, {5, 0.4}).spread, 0.5, 1e-12);
  EXPECT_EQ(sum({}).middle, 0);
}

TEST(ExpectedMaximum, OfNormalNumbers) {
  // 1 / sqrt(pi), 3 / (2 sqrt(pi)); the others from H. L. Harter, Biometrika 48 (1961) 151.
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.5641896, 1e-5);
  EXPECT_NEAR(expected_maximum(3), 0.8462844, 1e-5);
  EXPECT_NEAR(expected_maximum(8), 1.42360, 1e-5);
  EXPECT_NEAR(expected_maximum(100), 2.50759, 1e-5);
  EXPECT_GT(expected_maximum(65536), expected_maximum(1024));
}

}  // namespace
}  // namespace linac::plan
