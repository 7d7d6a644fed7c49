#include "linac/base/base/percent.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(Percent, EncodesAndDecodes) {
  EXPECT_EQ(percent_encoded("a b/ä"), "a%20b%2F%C3%A4");
  EXPECT_EQ(percent_encoded("a b/c?", true), "a%20b/c%3F");
  EXPECT_EQ(percent_encoded("a/b"), "a%2Fb");
  EXPECT_EQ(percent_decoded(percent_encoded("a b/ä+%"), false), "a b/ä+%");
}

}  // namespace
}  // namespace linac
