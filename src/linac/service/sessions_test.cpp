#include "linac/service/sessions.h"

#include <gtest/gtest.h>

#include "linac/catalog/names.h"
#include "linac/service/dispatcher.h"
#include "linac/service/rate_limit.h"
#include "linac/service/secrets.h"

namespace linac::service {
namespace {

Caller caller(const char* name) {
  Caller caller;
  caller.user = name;
  caller.known = true;
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

TEST(RateLimit, LetsABurstThroughAndThenTheRate) {
  RateLimit limit(10, 20);
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(limit.take("a", begin));
  EXPECT_FALSE(limit.take("a", begin));
  EXPECT_TRUE(limit.take("b", begin));
  EXPECT_FALSE(limit.left("a", begin));
  int taken = 0;
  for (int i = 0; i < 100; ++i) taken += limit.take("a", begin + std::chrono::seconds(1));
  EXPECT_EQ(taken, 10);
}

TEST(Secrets, Base64AsClientsSendIt) {
  EXPECT_EQ(base64_decoded("dXNlcjpwYXNz"), "user:pass");
  EXPECT_EQ(base64_decoded("YTpi"), "a:b");
  EXPECT_EQ(base64_decoded("YTo="), "a:");
  EXPECT_EQ(base64_decoded("?!"), "");
  EXPECT_TRUE(same_secret("abc", "abc"));
  EXPECT_FALSE(same_secret("abc", "abcd"));
  EXPECT_EQ(catalog::random_hex(32).size(), 32U);
  EXPECT_NE(catalog::random_hex(32), catalog::random_hex(32));
}

TEST(Hosts, OnlyThisMachineIsLoopback) {
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:5000", "127.1.2.3", "[::1]", "[::1]:5000"})
    EXPECT_TRUE(loopback_host(host)) << host;
  for (const char* host :
       {"", "evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "10.0.0.1", "[::2]", "1127.0.0.1"})
    EXPECT_FALSE(loopback_host(host)) << host;
}

}  // namespace
}  // namespace linac::service
