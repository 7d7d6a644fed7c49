#include "linac/base/base/safe_path.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/folder_walk.h"
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

TEST_F(SafePath, FoldersOfAnyDepthAndWithoutRightsAreRemoved) {
  constexpr int kDepth = 3000;  // more than there are descriptors, often
  const auto deep = [](const fs::path& at) {
    Descriptor folder(::open(at.c_str(), O_DIRECTORY | O_CLOEXEC));
    for (int i = 0; i < kDepth; ++i) {
      ASSERT_EQ(::mkdirat(folder.get(), "f", 0700), 0);
      folder = Descriptor(::openat(folder.get(), "f", O_DIRECTORY | O_CLOEXEC));
    }
    ASSERT_TRUE(Descriptor(::openat(folder.get(), "file", O_CREAT | O_WRONLY | O_CLOEXEC, 0600)));
  };
  deep(root / "0" / "run");
  EXPECT_TRUE(remove_below(root, "0"));
  fs::create_directories(root / "1" / "closed");
  deep(root / "1");
  fs::create_symlink(folder / "secret", root / "1" / "closed" / "link");
  fs::permissions(root / "1" / "closed", fs::perms::none);
  fs::create_directory_symlink(root, folder / "way");
  remove_tree(folder / "way" / "1");
  EXPECT_TRUE(fs::is_empty(root));
  remove_tree(folder / "way" / "1");
  remove_tree(folder / "way");
  EXPECT_TRUE(fs::exists(root) && !fs::is_symlink(folder / "way"));
  EXPECT_EQ(read_file(folder / "secret"), "secret");
}

// Each name that is entered may be made something else first.
class Meddler : public FolderVisitor {
 public:
  explicit Meddler(std::map<std::string, std::function<void()>> acts) : acts_(std::move(acts)) {}
  bool enter(int, const std::string& name, const struct stat& about) override {
    seen.insert(name);
    if (const auto act = acts_.find(name); act != acts_.end()) act->second();
    return S_ISDIR(about.st_mode);
  }
  void leave(int, const std::string& name) override { left.insert(name); }
  void unreadable(const std::string& name, const struct stat&) override { ADD_FAILURE() << name; }
  std::set<std::string> seen, left;

 private:
  std::map<std::string, std::function<void()>> acts_;
};

TEST_F(SafePath, WhoMovesFoldersMeanwhileLeadsNobodyElsewhere) {
  const auto walked = [&](std::map<std::string, std::function<void()>> acts) {
    Meddler meddler(std::move(acts));
    walk(Descriptor(::open(root.c_str(), O_DIRECTORY | O_CLOEXEC)), meddler);
    return meddler;
  };
  EXPECT_EQ(walked({}).seen, (std::set<std::string>{"0", "run", "a.txt", "link", "out"}));
  const Meddler replaced = walked({{"run", [&] {
                                      fs::rename(root / "0/run", root / "0/was");
                                      fs::create_directory_symlink(folder, root / "0/run");
                                    }}});
  EXPECT_FALSE(replaced.seen.contains("secret") || replaced.seen.contains("a.txt"));
  EXPECT_TRUE(replaced.left.contains("run"));
  fs::remove(root / "0/run");
  fs::rename(root / "0/was", root / "0/run");
  // From within the folder in which it is: the way up leads elsewhere, the rest is found all the same.
  fs::create_directories(folder / "elsewhere");
  const Meddler moved = walked({{"a.txt", [&] { fs::rename(root / "0/run", folder / "elsewhere/run"); }}});
  EXPECT_TRUE(moved.seen.contains("link") && moved.seen.contains("out") && !moved.seen.contains("secret"));
  EXPECT_EQ(moved.left, (std::set<std::string>{"0", "run"}));
}

}  // namespace
}  // namespace linac
