#include "linac/base/base/error.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(Error, KeepsBothEndsOfALongMessage) {
  EXPECT_STREQ(user_error("[job] short").what(), "[job] short");
  std::string constant;
  for (int i = 0; i < 50000; ++i) constant += "é";
  const std::string said = user_error("[keras] a.keras: " + constant + "; leave it out").what();
  EXPECT_LT(said.size(), Error::kMessageBytesMax + 100);
  EXPECT_TRUE(said.starts_with("[keras] a.keras: é")) << said.substr(0, 40);
  EXPECT_TRUE(said.ends_with("é; leave it out")) << said.substr(said.size() - 40);
  EXPECT_NE(said.find("é [... 9"), std::string::npos) << "no half character is left";
}

}  // namespace
}  // namespace linac
