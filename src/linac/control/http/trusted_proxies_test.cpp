#include "linac/control/http/trusted_proxies.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"

namespace linac::http {
namespace {

TEST(TrustedProxies, OnlyThoseListedSayForWhomTheyAsk) {
  const TrustedProxies proxies({"10.1.0.0/16", "::1", "192.168.1.7"});
  const auto client = [&](const char* from, const char* said) {
    return proxies.client(from, {{"x-forwarded-for", said}});
  };
  EXPECT_EQ(client("10.1.2.3", "8.8.8.8"), "8.8.8.8");
  EXPECT_EQ(client("10.2.2.3", "8.8.8.8"), "10.2.2.3");
  EXPECT_EQ(client("::1", "2001:db8::5"), "2001:db8::5");
  EXPECT_EQ(client("10.1.2.3", "1.1.1.1, 8.8.8.8"), "8.8.8.8") << "the first one anybody can write";
  EXPECT_EQ(client("10.1.2.3", "8.8.8.8, 192.168.1.7, 10.1.9.9"), "8.8.8.8");
  EXPECT_EQ(client("10.1.2.3", "8.8.8.8, nonsense"), "10.1.2.3");
  EXPECT_EQ(client("10.1.2.3", ""), "10.1.2.3");
  EXPECT_EQ(proxies.client("10.1.2.3", {}), "10.1.2.3");
  EXPECT_TRUE(proxies.contains("::ffff:10.1.0.1"));
  EXPECT_FALSE(TrustedProxies().contains("127.0.0.1"));
}

TEST(TrustedProxies, OnlyThoseListedSayThatTheyWereAskedByTls) {
  const TrustedProxies proxies({"10.1.0.0/16"});
  EXPECT_TRUE(proxies.secure("10.1.2.3", {{"x-forwarded-proto", "https"}}));
  EXPECT_FALSE(proxies.secure("10.1.2.3", {{"x-forwarded-proto", "http"}}));
  EXPECT_FALSE(proxies.secure("10.1.2.3", {}));
  EXPECT_FALSE(proxies.secure("10.2.2.3", {{"x-forwarded-proto", "https"}}));
}

TEST(TrustedProxies, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "host", "10.0.0.1/33", "10.0.0.1/", "10.0.0.1/x", "::1/129", "10.0.0.1/-1"})
    EXPECT_THROW(TrustedProxies({text}), Error) << text;
}

}  // namespace
}  // namespace linac::http
