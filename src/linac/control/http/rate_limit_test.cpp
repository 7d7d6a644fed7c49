#include "linac/control/http/rate_limit.h"

#include <gtest/gtest.h>

namespace linac::http {
namespace {

TEST(RateLimit, LetsABurstThroughAndThenTheRate) {
  RateLimit limit(10, 20);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(limit.take("a", begin));
  EXPECT_FALSE(limit.take("a", begin));
  EXPECT_TRUE(limit.take("b", begin));
  EXPECT_FALSE(limit.left("a", begin));
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += limit.take("a", begin + std::chrono::seconds(1));
  EXPECT_EQ(taken, 10);
}

TEST(Shares, OneCallerHasNoMoreThanHisAndOthersHaveTheirs) {
  Shares shares(2);
  auto first = shares.take("a");
  const auto second = shares.take("a"), other = shares.take("b");
  EXPECT_TRUE(first && second && other);
  EXPECT_EQ(shares.take("a"), nullptr);
  first.reset();
  EXPECT_NE(shares.take("a"), nullptr);
}

TEST(Shares, AmountsAreGivenBackAsTheyWereTaken) {
  Shares shares(100);
  auto most = shares.take("a", 99);
  EXPECT_EQ(shares.take("a", 2), nullptr);
  EXPECT_EQ(shares.take("a", INT64_MAX), nullptr);
  const auto last = shares.take("a", 1);
  EXPECT_NE(last, nullptr);
  EXPECT_EQ(shares.take("a"), nullptr);
  most.reset();
  EXPECT_EQ(shares.take("a", 100), nullptr);
  EXPECT_NE(shares.take("a", 99), nullptr);
}

}  // namespace
}  // namespace linac::http
