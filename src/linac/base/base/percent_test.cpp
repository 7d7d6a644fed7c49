#include "linac/base/base/percent.h"

#include <gtest/gtest.h>

namespace linac {
namespace {

TEST(Percent, EncodesAndDecodes) {
  EXPECT_EQ(percent_encoded("a b/ä"), "a%20b%2F%C3%A4");
  EXPECT_EQ(percent_encoded("a b/c?", true), "a%20b/c%3F");
  EXPECT_EQ(percent_encoded("a/b"), "a%2Fb");
  EXPECT_EQ(percent_decoded(percent_encoded("a b/ä+%"), false), "a b/ä+%");
}

TEST(Percent, NamesAsFoldersAreToldApart) {
  EXPECT_EQ(name_as_folder("gan_v2.1-a"), "gan_v2.1-a");
  EXPECT_EQ(name_as_folder("a b/ä="), "a=20b=2F=C3=A4=3D");
  for (const char* name : {"gan", "a b", "a_b", "a/b", "100%", "x=20"})
    EXPECT_EQ(folder_as_name(name_as_folder(name)), name);
  for (const char* none : {"a b", "a=2", "a=20=", "a=5F", "a=2fb"}) EXPECT_FALSE(folder_as_name(none)) << none;
}

}  // namespace
}  // namespace linac
