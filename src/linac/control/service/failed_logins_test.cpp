#include "linac/control/service/failed_logins.h"

#include <gtest/gtest.h>

namespace linac::service {
namespace {

TEST(FailedLogins, GuessesOfAMinuteAreTwoEntries) {
  FailedLogins logins;
  const auto first = logins.failed("a", 1000);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(first[0].object, "1 wrong token");
  EXPECT_EQ(first[0].from, "a");
  for (int i = 0; i < 50; ++i) EXPECT_TRUE(logins.failed("a", 2000 + i).empty());
  EXPECT_EQ(logins.failed("b", 3000).size(), 1u) << "another address";
  EXPECT_TRUE(logins.over(4000).empty());
  const auto later = logins.over(1000 + FailedLogins::kTogetherMs);
  ASSERT_EQ(later.size(), 1u) << "b had one, which is written";
  EXPECT_EQ(later[0].object, "50 wrong tokens");
  EXPECT_EQ(logins.failed("a", 1000 + FailedLogins::kTogetherMs).size(), 1u) << "a new minute";
}

TEST(FailedLogins, ManyAddressesDoNotFillTheLog) {
  FailedLogins logins;
  size_t entries = 0;
  for (size_t i = 0; i < 3 * FailedLogins::kAddressesMax; ++i) entries += logins.failed(std::to_string(i), 1).size();
  EXPECT_EQ(entries, FailedLogins::kAddressesMax + 1);
  const auto rest = logins.over(2, true);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].from, "others");
}

}  // namespace
}  // namespace linac::service
