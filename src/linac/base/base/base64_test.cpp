#include "linac/base/base/base64.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(Base64, ThereAndBack) {
  std::string bytes;
  for (int length = 0; length < 300; ++length) {
    const std::string text = base64(bytes);
    EXPECT_EQ(text.size() % 4, 0U);
    EXPECT_EQ(base64_decoded(text), bytes);
    EXPECT_EQ(base64_decoded(text.substr(0, text.find('='))), bytes);
    bytes += static_cast<char>(length * 7);
  }
}

TEST(Base64, AsRfc4648HasIt) {
  EXPECT_EQ(base64("foob"), "Zm9vYg==");
  EXPECT_EQ(base64_decoded("Zm9vYmE="), "fooba");
  EXPECT_EQ(base64_decoded("dXNlcjpwYXNz"), "user:pass");
}

TEST(Base64, WhatIsNone) {
  for (const char* text : {"?!", "Z", "Zm9v Yg==", "Zm9vY", "Zm9=Yg", "Zh==", "Zm9vYmF=", "===="})
    EXPECT_FALSE(base64_decoded(text)) << text;
}

}  // namespace
}  // namespace linac
