#include "linac/base/base/user_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "linac/base/base/fnv1a.h"

namespace linac {
namespace {

class Variables : public ::testing::Test {
 protected:
  Variables() : home_(std::getenv("HOME") != nullptr ? std::getenv("HOME") : "") {}
  ~Variables() override {
    ::setenv("HOME", home_.c_str(), 1);
    ::unsetenv("LINAC_TEST_FOLDER");
  }
  const std::string home_;
};

TEST_F(Variables, AFolderIsNamedOrBelowHome) {
  ::setenv("HOME", "/home/a", 1);
  ::unsetenv("LINAC_TEST_FOLDER");
  EXPECT_EQ(user_folder("LINAC_TEST_FOLDER", ".local/state"), "/home/a/.local/state/linac");
  ::setenv("LINAC_TEST_FOLDER", "", 1);
  EXPECT_EQ(user_folder("LINAC_TEST_FOLDER", ".config"), "/home/a/.config/linac");
  ::setenv("LINAC_TEST_FOLDER", "/b", 1);
  EXPECT_EQ(user_folder("LINAC_TEST_FOLDER", ".config"), "/b/linac");
  ::unsetenv("LINAC_TEST_FOLDER");
  ::unsetenv("HOME");
  EXPECT_EQ(user_folder("LINAC_TEST_FOLDER", ".config"), std::nullopt);
}

TEST(PrivateFiles, BringBackWhatWasBefore) {
  const mode_t before = ::umask(022);
  {
    const PrivateFiles mine;
    EXPECT_EQ(::umask(077), 077U);
  }
  EXPECT_EQ(::umask(before), 022U);
}

// Of the authors' table (isthe.com/chongo/tech/comp/fnv).
TEST(Fnv1a, KnownAnswers) {
  EXPECT_EQ(fnv1a_64("a"), 0xAF63DC4C8601EC8CU);
  EXPECT_EQ(fnv1a_64("foobar"), 0x85944171F73967E8U);
  EXPECT_EQ(fnv1a_32("foobar"), 0xBF9CF968U);
}

}  // namespace
}  // namespace linac
