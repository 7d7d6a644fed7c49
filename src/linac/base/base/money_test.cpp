#include "linac/base/base/money.h"

#include <gtest/gtest.h>

#include <limits>

namespace linac {
namespace {

TEST(Money, HasTwoDigitsThatCount) {
  EXPECT_EQ(money(0, "EUR"), "0.00 EUR");
  EXPECT_EQ(money(0.00004217, "EUR"), "0.000042 EUR");
  EXPECT_EQ(money(0.012345, "CHF"), "0.012 CHF");
  EXPECT_EQ(money(0.5, "EUR"), "0.50 EUR");
  EXPECT_EQ(money(1234.567, "EUR"), "1234.57 EUR");
  EXPECT_EQ(money(1e-12, "EUR"), "0.00000000 EUR");
  EXPECT_EQ(money(std::numeric_limits<double>::infinity(), "EUR"), "inf EUR");
}

}  // namespace
}  // namespace linac
