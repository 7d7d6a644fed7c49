#include "linac/base/base/private_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"

namespace linac {
namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat about {};
  return ::lstat(path.c_str(), &about) == 0 ? about.st_mode & 07777 : 0;
}

TEST(PrivateFile, IsForItsOwnerAlone) {
  const TemporaryFolder folder;
  const auto path = folder / "key";
  const mode_t former = ::umask(0);
  write_private_file(path, std::string("a\0b", 3));
  ::umask(former);
  EXPECT_EQ(mode_of(path), 0600u);
  EXPECT_EQ(read_private_file(path, 3), std::string("a\0b", 3));
  std::ofstream(folder / "key.part") << "of who was killed";
  write_private_file(path, "c");
  EXPECT_EQ(read_private_file(path, 10), "c");
  EXPECT_FALSE(std::filesystem::exists(folder / "key.part"));
  EXPECT_EQ(read_private_file(folder / "none", 10), std::nullopt);
}

TEST(PrivateFile, WhatMayBeAnothersIsNotRead) {
  const TemporaryFolder folder;
  const auto path = folder / "key";
  write_private_file(path, "secret");
  EXPECT_THROW(read_private_file(path, 5), Error);
  ::chmod(path.c_str(), 0640);
  EXPECT_THROW(read_private_file(path, 10), Error);
  ::chmod(path.c_str(), 0600);
  std::filesystem::create_symlink(path, folder / "link");
  EXPECT_THROW(read_private_file(folder / "link", 10), Error);
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THROW(read_private_file(folder / "pipe", 10), Error);
}

TEST(PrivateFile, ALinkInItsPlaceIsReplacedAndNotWrittenThrough) {
  const TemporaryFolder folder;
  std::ofstream(folder / "others") << "kept";
  std::filesystem::create_symlink(folder / "others", folder / "key");
  std::filesystem::create_symlink(folder / "others", folder / "key.part");
  write_private_file(folder / "key", "secret");
  EXPECT_EQ(read_private_file(folder / "key", 10), "secret");
  std::string text;
  std::ifstream(folder / "others") >> text;
  EXPECT_EQ(text, "kept");
}

}  // namespace
}  // namespace linac
