#include "linac/control/http/routes/dispatcher.h"

#include <gtest/gtest.h>

namespace linac::http {
namespace {

TEST(Hosts, OnlyThisMachineIsLoopback) {
  for (const char* host : {"localhost", "LOCALHOST:80", "127.0.0.1:5000", "127.1.2.3", "[::1]", "[::1]:5000"})
    EXPECT_TRUE(loopback_host(host)) << host;
  for (const char* host :
       {"", "evil.com", "127.0.0.1.evil.com", "localhost.evil.com", "10.0.0.1", "[::2]", "1127.0.0.1"})
    EXPECT_FALSE(loopback_host(host)) << host;
}

}  // namespace
}  // namespace linac::http
