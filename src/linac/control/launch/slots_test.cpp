#include "linac/control/launch/slots.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"

namespace linac::launch {
namespace {

TEST(SlotsTest, AreTakenByNumberAndGivenBack) {
  Slots slots({2, 3, 5}, 1000, {0});
  EXPECT_EQ(why_never({3, 1000, 1}, slots.all()), "");
  EXPECT_NE(why_never({4, 0, 0}, slots.all()), "");
  const auto limits = slots.take({2, 600, 1});
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->cores, (std::vector<int>{2, 3}));
  EXPECT_FALSE(slots.take({1, 600, 0}));
  EXPECT_FALSE(slots.take({1, 0, 1}));
  slots.give_back(*limits, {2, 600, 1});
  EXPECT_EQ(slots.free().cores, 3);
  EXPECT_EQ(slots.free().memory_mb, 1000);
  EXPECT_THROW(Slots::of_text("cores=x"), Error);
  EXPECT_THROW(Slots::of_text("disks=1"), Error);
  EXPECT_EQ(Slots::of_text("cores=1,memory=1G").all().memory_mb, 1024);
}

}  // namespace
}  // namespace linac::launch
