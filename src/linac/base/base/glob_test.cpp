#include "linac/base/base/glob.h"

#include <gtest/gtest.h>

#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"

namespace linac {
namespace {

TEST(Glob, IsBoundedWhereThreadsSaySo) {
  const TemporaryFolder folder;
  for (const char* name : {"a", "b", "c"}) {
    std::filesystem::create_directory(folder / name);
    for (const char* file : {"1.h5", "2.h5"}) std::ofstream(folder.path() / name / file);
  }
  const std::string pattern = folder.path().string() + "/*/*.h5";
  EXPECT_EQ(glob_paths(pattern).size(), 6U);
  EXPECT_EQ(glob_paths(pattern).front(), (folder.path() / "a" / "1.h5").string());
  EXPECT_TRUE(glob_paths(folder.path().string() + "/*.none").empty());
  {
    const BoundedGlobs few({5, std::chrono::seconds(60)});
    EXPECT_THROW(glob_paths(pattern), Error);
  }
  {
    const BoundedGlobs soon({1000, std::chrono::milliseconds(-1)});
    EXPECT_THROW(glob_paths(pattern), Error);
  }
  {
    const BoundedGlobs enough({1000, std::chrono::seconds(60)});
    EXPECT_EQ(glob_paths(pattern).size(), 6U);
    for (int i = 0; i < 1000; ++i) {
      try {
        glob_paths(pattern);
      } catch (const Error&) {
        return;
      }
    }
    FAIL() << "all patterns of a thread together are bounded";
  }
}

TEST(Glob, FindsNothingInFoldersThatAreHidden) {
  const TemporaryFolder folder;
  for (const char* name : {"open", "secret/a"}) std::filesystem::create_directories(folder / name);
  for (const char* file : {"open/1.h5", "secret/2.h5", "secret/a/3.h5"}) std::ofstream(folder / file);
  std::filesystem::create_directory_symlink(folder / "secret", folder / "open" / "link");
  const std::string root = std::filesystem::canonical(folder.path());
  const auto hides = [&](const std::string& real) { return (real + "/").starts_with(root + "/secret/"); };
  const BoundedGlobs bounds({1000, std::chrono::seconds(60)}, hides);
  EXPECT_EQ(glob_paths(root + "/*/*.h5").size(), 1U);
  for (const char* pattern :
       {"/secret/*", "/open/link/*", "/open/link/a/*", "/secret/a/*.h5", "/*/a/*", "/open/../secret/2*"})
    EXPECT_TRUE(glob_paths(root + pattern).empty()) << pattern;
}

}  // namespace
}  // namespace linac
