#include "linac/base/base/bytes.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(Bytes, AreReadWithAndWithoutUnits) {
  EXPECT_EQ(parse_bytes("1"), 1);
  EXPECT_EQ(parse_bytes("1073741824"), int64_t{1} << 30);
  EXPECT_EQ(parse_bytes("1.5GiB"), int64_t{3} << 29);
  EXPECT_EQ(parse_bytes("10 TiB"), int64_t{10} << 40);
  EXPECT_EQ(parse_bytes("2KiB"), 2048);
  EXPECT_EQ(parse_bytes("3MiB"), int64_t{3} << 20);
  EXPECT_EQ(parse_bytes("1e300"), int64_t{1} << 60);
}

TEST(Bytes, OtherWordsAreNone) {
  for (const char* wrong :
       {"", " ", "0", "-1", "0.5", "nan", "inf", "GiB", "1GB", "1gib", "1 GiB more", "1,5GiB", "+1"})
    EXPECT_FALSE(parse_bytes(wrong)) << wrong;
}

TEST(Bytes, AreWritten) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(int64_t{12} << 30), "12 GiB");
  EXPECT_EQ(format_bytes(int64_t{5000} << 40), "5000 TiB");
}

}  // namespace
}  // namespace linac
