#include "linac/base/base/hex.h"

#include <gtest/gtest.h>

#include <array>

namespace linac {
namespace {

TEST(Hex, ThereAndBack) {
  std::string bytes;
  for (int value = 0; value < 256; ++value) bytes += static_cast<char>(value);
  const std::string digits = in_hex(bytes);
  EXPECT_EQ(digits.size(), 512U);
  EXPECT_TRUE(digits.starts_with("000102") && digits.ends_with("fdfeff"));
  EXPECT_EQ(from_hex(digits), bytes);
  EXPECT_TRUE(is_hex(digits));
  EXPECT_EQ(in_hex(std::array<unsigned char, 2>{0x0a, 0xf0}), "0af0");
  EXPECT_EQ(from_hex(""), "");
}

TEST(Hex, WhatIsNone) {
  for (const char* text : {"0A", "0g", "0x", " 0", "-1"}) {
    EXPECT_FALSE(is_hex(text)) << text;
    EXPECT_FALSE(from_hex(text)) << text;
  }
  EXPECT_FALSE(from_hex("012"));
}

}  // namespace
}  // namespace linac
