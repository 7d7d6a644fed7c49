#include "linac/base/base/networks.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(Networks, HasTheAddressesOfThoseThatWereAdded) {
  Networks some;
  EXPECT_FALSE(some.contains("10.1.0.1"));
  for (const char* const good : {"10.1.0.0/16", "192.168.7.9", "2001:db8::/33", "::1"}) EXPECT_TRUE(some.add(good));
  for (const char* const in : {"10.1.0.0", "10.1.255.255", "::ffff:10.1.2.3", "192.168.7.9", "2001:db8:7fff::1", "::1"})
    EXPECT_TRUE(some.contains(in)) << in;
  for (const char* const out :
       {"10.2.0.0", "10.0.255.255", "192.168.7.8", "2001:db8:8000::1", "::2", "", "host", "10.1"})
    EXPECT_FALSE(some.contains(out)) << out;
  Networks every;
  EXPECT_TRUE(every.add("0.0.0.0/0"));
  EXPECT_TRUE(every.contains("8.8.8.8") && !every.contains("2001:db8::1"));
}

TEST(Networks, TakesNothingElse) {
  Networks none;
  for (const char* const bad :
       {"", "/", "10.1.0.0/", "10.1.0.0/33", "10.1.0.0/-1", "10.1.0.0/8x", "10.1", "::/129", "host/8", "10.1.0.0/16/8"})
    EXPECT_FALSE(none.add(bad)) << bad;
  EXPECT_TRUE(none.empty());
}

}  // namespace
}  // namespace linac
