#include "linac/base/base/bfloat16.h"

#include <gtest/gtest.h>

#include <limits>

namespace linac {
namespace {

float rounded(float value) {
  return from_bfloat16(to_bfloat16(value));
}

TEST(Bfloat16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(rounded(1.0F), 1.0F);
  EXPECT_EQ(rounded(-0.0F), 0.0F);
  EXPECT_TRUE(std::signbit(rounded(-0.0F)));
  constexpr float kUlp = 1.0F / 128;  // at 1
  EXPECT_EQ(rounded(1 + kUlp / 2), 1.0F);
  EXPECT_EQ(rounded(1 + 3 * kUlp / 2), 1 + 2 * kUlp);
  EXPECT_EQ(rounded(1 + 0.51F * kUlp), 1 + kUlp);
  EXPECT_EQ(rounded(3e38F), from_bfloat16(0x7F62));
}

TEST(Bfloat16, WhatIsNotFiniteStaysSo) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(rounded(infinity), infinity);
  EXPECT_EQ(rounded(-infinity), -infinity);
  EXPECT_EQ(rounded(std::numeric_limits<float>::max()), infinity);
  EXPECT_TRUE(std::isnan(rounded(std::bit_cast<float>(0x7F800001U))));
  EXPECT_TRUE(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace linac
