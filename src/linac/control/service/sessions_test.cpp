#include "linac/control/service/sessions.h"

#include <gtest/gtest.h>

#include "linac/control/service/secrets.h"

namespace linac::service {
namespace {

Caller caller(const char* name) {
  Caller caller;
  caller.user = name;
  caller.access = Access::kMember;
  return caller;
}

TEST(Sessions, EndByTimeByLogoutAndWithTheirUser) {
  Sessions sessions;
  const std::string a = sessions.begin(caller("a"), 1000, 0), b = sessions.begin(caller("b"), 1000, 5000);
  EXPECT_NE(a, b);
  EXPECT_EQ(sessions.find(a, 1000)->caller.user, "a");
  EXPECT_NE(sessions.find(a, 1000)->csrf, sessions.find(b, 1000)->csrf);
  EXPECT_FALSE(sessions.find("", 1000));
  EXPECT_FALSE(sessions.find(b, 5000));  // with the token
  EXPECT_FALSE(sessions.find(a, 1000 + Sessions::kLifetimeMs));
  sessions.end(a);
  EXPECT_FALSE(sessions.find(a, 1000));
  sessions.end_all("b");
  EXPECT_FALSE(sessions.find(b, 1000));
}

TEST(Secrets, AreCompared) {
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abcd"));
}

}  // namespace
}  // namespace linac::service
