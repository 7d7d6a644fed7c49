#include "linac/physics/report/page/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace linac::report {
namespace {

TEST(Numbers, ThreeDigits) {
  EXPECT_EQ(short_number(0.04321), "0.0432");
  EXPECT_EQ(short_number(0.99996), "1.00");
  EXPECT_EQ(short_number(-12.34), "-12.3");
  EXPECT_EQ(short_number(1234), "1234");
  EXPECT_EQ(short_number(1.2e-7), "1.20×10⁻⁷");
  EXPECT_EQ(short_number(4.31e21), "4.31×10²¹");
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(std::nan("")), "not a number");
  EXPECT_EQ(short_number(-std::numeric_limits<double>::infinity()), "-∞");
}

TEST(Numbers, TheUncertaintyDecidesOnTheDigits) {
  EXPECT_EQ(with_uncertainty(0.04321, 0.0051), "0.0432 ± 0.0051");
  EXPECT_EQ(with_uncertainty(22.871, 0.6), "22.87 ± 0.60");
  EXPECT_EQ(with_uncertainty(1234.5, 340), "1234 ± 340");
  EXPECT_EQ(with_uncertainty(0.001, 0.5), "0.00 ± 0.50");
  EXPECT_EQ(with_uncertainty(1.2e-7, 2.5e-8), "(1.20 ± 0.25)×10⁻⁷");
  EXPECT_EQ(with_uncertainty(0.5, 0), "0.500");
  EXPECT_EQ(with_uncertainty(1, 1e-9), "1.00");
  EXPECT_EQ(with_uncertainty(std::nan(""), 1), "not a number");
  EXPECT_EQ(with_uncertainty(2, std::nan("")), "2.00");
}

TEST(Numbers, SharesOfALimitKeepTheirSide) {
  EXPECT_EQ(times(0.414), "0.41");
  EXPECT_EQ(times(2.34), "2.3");
  EXPECT_EQ(times(1272), "1272");
  EXPECT_EQ(times(16122), "1.6×10⁴");
  EXPECT_EQ(share_of_limit(0.9999), "0.99");
  EXPECT_EQ(share_of_limit(1.0001), "1.01");
  EXPECT_EQ(share_of_limit(3.21), "3.2");
}

}  // namespace
}  // namespace linac::report
