#include "linac/base/base/secure_random.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(SecureRandom, GivesSoManyDigitsAndOthersEachTime) {
  EXPECT_EQ(random_hex(32).size(), 32U);
  EXPECT_EQ(random_hex(1001).size(), 1001U);
  EXPECT_NE(random_hex(32), random_hex(32));
}

}  // namespace
}  // namespace linac
