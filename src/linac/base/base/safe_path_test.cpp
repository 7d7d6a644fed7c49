#include "linac/base/base/safe_path.h"

#include <gtest/gtest.h>

#include <fstream>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/temporary_folder.h"

namespace linac {
namespace {

namespace fs = std::filesystem;

fs::path uploaded(const fs::path& folder, const std::string& text) {
  const fs::path path = folder / "upload";
  std::ofstream(path) << text;
  return path;
}

class SafePath : public testing::Test {
 protected:
  SafePath() {
    fs::create_directories(root / "0" / "run");
    std::ofstream(root / "0" / "run" / "a.txt") << "text";
    std::ofstream(folder / "secret") << "secret";
    fs::create_symlink(folder / "secret", root / "0" / "link");
    fs::create_directory_symlink(folder, root / "0" / "out");
  }
  const TemporaryFolder own;
  const fs::path folder = own.path(), root = folder / "root";
};

TEST_F(SafePath, NamesThatLeadElsewhereAreRefused) {
  for (const char* name :
       {"..", "../secret", "0/../../secret", "/etc/passwd", "0//run", "0/./run", "0/run/..", "a\\b", "a\nb", "\xff"}) {
    EXPECT_THROW(harmless_path(name), Refusal) << name;
    EXPECT_THROW(open_below(root, name), Refusal) << name;
    EXPECT_THROW(entries_below(root, name), Refusal) << name;
    EXPECT_THROW(remove_below(root, name), Refusal) << name;
    EXPECT_THROW(place_below(root, name, uploaded(folder, "x")), Refusal) << name;
  }
  EXPECT_THROW(harmless_path(std::string(300, 'a')), Refusal);
  EXPECT_EQ(harmless_path("a/b c/ä/"), "a/b c/ä");
  EXPECT_EQ(read_file(folder / "secret"), "secret");
}

TEST_F(SafePath, SymbolicLinksAreNotFollowed) {
  EXPECT_THROW(open_below(root, "0/link"), Refusal);
  EXPECT_THROW(open_below(root, "0/out/secret"), Refusal);
  EXPECT_TRUE(entries_below(root, "0/out").empty());
  EXPECT_THROW(place_below(root, "0/out/new", uploaded(folder, "x")), Refusal);
  EXPECT_FALSE(fs::exists(folder / "new"));
  EXPECT_FALSE(remove_below(root, "0/out/secret"));
  EXPECT_EQ(entries_below(root, "0").size(), 1U);  // the links are not shown
  EXPECT_TRUE(remove_below(root, "0"));            // the links go, what they point at stays
  EXPECT_EQ(read_file(folder / "secret"), "secret");
}

TEST_F(SafePath, TheRootsOwnPathHasNoLinks) {
  fs::create_directory_symlink(root, folder / "way");
  EXPECT_THROW(open_below(folder / "way", "0/run/a.txt"), Refusal);
  EXPECT_THROW(open_below(folder / "way" / "0", "run/a.txt"), Refusal);
  EXPECT_TRUE(entries_below(folder / "way", "0").empty());
  EXPECT_THROW(place_below(root / "0" / "out", "new", uploaded(folder, "x")), Refusal);
  EXPECT_FALSE(fs::exists(folder / "new"));
  EXPECT_THROW(folder_below(root, "0/out/new"), Refusal);
  EXPECT_THROW(folder_below(root, "../new"), Refusal);
  EXPECT_FALSE(fs::exists(folder / "new"));
  EXPECT_TRUE(folder_below(root, "1/run/artifacts"));
  EXPECT_TRUE(fs::is_directory(root / "1/run/artifacts"));
}

TEST_F(SafePath, FilesArePlacedListedAndRemoved) {
  place_below(root, "0/run/deep/b.bin", uploaded(folder, "first"));
  place_below(root, "0/run/deep/b.bin", uploaded(folder, "second"));
  EXPECT_EQ(read_file(root / "0/run/deep/b.bin"), "second");
  const auto entries = entries_below(root, "0/run");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].path, "0/run/a.txt");
  EXPECT_EQ(entries[0].bytes, 4);
  EXPECT_TRUE(entries[1].folder);
  EXPECT_THROW(place_below(root, "0/run/a.txt/b", uploaded(folder, "x")), Refusal);
  EXPECT_THROW(place_below(root, "0/run/deep", uploaded(folder, "x")), Refusal);
  EXPECT_THROW(open_below(root, "0/run/deep"), Refusal);
  EXPECT_THROW(open_below(root, "0/run/none"), Refusal);
  EXPECT_TRUE(remove_below(root, "0/run/deep"));
  EXPECT_FALSE(remove_below(root, "0/run/deep"));
}

}  // namespace
}  // namespace linac
