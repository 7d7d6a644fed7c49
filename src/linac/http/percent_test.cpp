#include "linac/http/percent.h"

#include <gtest/gtest.h>

namespace linac::http {
namespace {

TEST(Percent, EncodesAndDecodes) {
  EXPECT_EQ(percent_encoded("a b/ä"), "a%20b%2F%C3%A4");
  EXPECT_EQ(percent_decoded(percent_encoded("a b/ä+%"), false), "a b/ä+%");
}

}  // namespace
}  // namespace linac::http
