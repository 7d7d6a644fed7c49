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

}  // namespace
}  // namespace linac::plan
