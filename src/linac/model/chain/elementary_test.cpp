#include "linac/model/chain/elementary.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace linac::chain {
namespace {

TEST(Elementary, LogarithmIsThatOfTheLibrary) {
  for (float x = 1e-12F; x < 1e12F; x *= 1.0173F)
    EXPECT_NEAR(fast_log(x), std::log(x), 3e-7 * std::max(1.0F, std::abs(std::log(x)))) << x;
  EXPECT_EQ(fast_log(1), 0);
}

TEST(Elementary, ExponentialIsThatOfTheLibrary) {
  for (float x = -86.9F; x < 86.9F; x += 0.0371F) EXPECT_NEAR(fast_exp(x) / std::exp(x), 1, 3e-7) << x;
  EXPECT_EQ(fast_exp(0), 1);
  EXPECT_EQ(fast_exp(-1000), fast_exp(-87));
}

TEST(Elementary, ExponentialsAreRelativeToTheLargest) {
  std::array<float, 3> values{1000, 1001, 999};
  EXPECT_NEAR(exponentials(values.data(), values.size()), 1 + std::exp(-1.0) + std::exp(-2.0), 1e-6);
  EXPECT_EQ(values[1], 1);
}

}  // namespace
}  // namespace linac::chain
