#include "linac/base/base/binomial.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linac {
namespace {

TEST(ShareInterval, IsThatOfANormalForManyEvents) {
  const Range found = share_interval(0.3, 1e6);
  const double error = std::sqrt(0.3 * 0.7 / 1e6);
  EXPECT_NEAR(found.low, 0.3 - error, 1e-6);
  EXPECT_NEAR(found.high, 0.3 + error, 1e-6);
}

TEST(ShareInterval, FewEventsLeanToAHalf) {
  const Range none = share_interval(0, 9), all = share_interval(1, 9), one = share_interval(0.1, 10);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 0.1, 1e-12) << "z^2 / (n + z^2)";
  EXPECT_NEAR(all.low, 0.9, 1e-12);
  EXPECT_EQ(all.high, 1);
  EXPECT_GT(one.high - 0.1, 0.1 - one.low);
  EXPECT_GT(one.low, 0);
  EXPECT_EQ(share_interval(0.5, 0).high, 1);
}

}  // namespace
}  // namespace linac
