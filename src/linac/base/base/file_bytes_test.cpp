#include "linac/base/base/file_bytes.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/temporary_folder.h"

namespace linac {
namespace {

TEST(FileBytes, AreWrittenAndReadAtTheirPlace) {
  const TemporaryFolder folder;
  const Descriptor file(::open((folder / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  const std::string text = "some bytes";
  ASSERT_TRUE(write_at(file.get(), std::as_bytes(std::span(text)), 7));
  std::string back(text.size(), ' ');
  ASSERT_TRUE(read_at(file.get(), std::as_writable_bytes(std::span(back)), 7));
  EXPECT_EQ(back, text);
  EXPECT_FALSE(read_at(file.get(), std::as_writable_bytes(std::span(back)), 8)) << "the file ends before";
  EXPECT_EQ(errno, 0);
}

TEST(FileBytes, TellWhyTheyAreNot) {
  const Descriptor full(::open("/dev/full", O_RDWR | O_CLOEXEC));
  ASSERT_TRUE(full);
  EXPECT_FALSE(write_at(full.get(), std::as_bytes(std::span("text")), 0));
  EXPECT_EQ(errno, ENOSPC);
  std::byte none{};
  EXPECT_FALSE(read_at(-1, {&none, 1}, 0));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace linac
