#include "linac/base/base/sole_lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/temporary_folder.h"

namespace linac {
namespace {

using std::chrono::milliseconds;

class SoleLockTest : public testing::Test {
 protected:
  // Two descriptions of one file are as two processes.
  Descriptor open() const {
    return Descriptor(::open((folder_.path() / "lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  }

  TemporaryFolder folder_;
};

TEST_F(SoleLockTest, IsGivenToOne) {
  const Descriptor first = open(), second = open();
  EXPECT_TRUE(lock_alone(first.get()));
  EXPECT_TRUE(lock_alone(first.get()));
  EXPECT_FALSE(lock_alone(second.get(), milliseconds(30)));
  EXPECT_EQ(errno, EWOULDBLOCK);
}

TEST_F(SoleLockTest, WaitsForOneWhoIsAboutToEnd) {
  Descriptor first = open();
  const Descriptor second = open();
  ASSERT_TRUE(lock_alone(first.get()));
  std::jthread ends([&] {
    std::this_thread::sleep_for(milliseconds(100));
    first.reset();
  });
  EXPECT_TRUE(lock_alone(second.get(), milliseconds(60000)));
}

TEST_F(SoleLockTest, TriesOnce) {
  Descriptor first = open();
  const Descriptor second = open();
  EXPECT_TRUE(try_lock_alone(first.get()));
  EXPECT_FALSE(try_lock_alone(second.get()));
  EXPECT_EQ(errno, EWOULDBLOCK);
  unlock(first.get());
  EXPECT_TRUE(try_lock_alone(second.get()));
}

TEST_F(SoleLockTest, WaitsForAsLongAsItTakes) {
  Descriptor first = open();
  const Descriptor second = open();
  ASSERT_TRUE(try_lock_alone(first.get()));
  std::atomic<bool> gone = false;
  std::jthread ends([&] {
    std::this_thread::sleep_for(milliseconds(100));
    gone = true;
    first.reset();
  });
  EXPECT_TRUE(lock_alone(second.get(), kForever));
  EXPECT_TRUE(gone);
}

TEST_F(SoleLockTest, SharedIsNotAlone) {
  const Descriptor first = open(), second = open(), third = open();
  EXPECT_TRUE(try_lock_shared(first.get()));
  EXPECT_TRUE(try_lock_shared(second.get()));
  EXPECT_FALSE(try_lock_alone(third.get()));
  unlock(first.get());
  unlock(second.get());
  EXPECT_TRUE(try_lock_alone(third.get()));
  EXPECT_FALSE(try_lock_shared(first.get()));
}

TEST_F(SoleLockTest, WaitsForNoOtherReason) {
  EXPECT_FALSE(lock_alone(-1));
  EXPECT_EQ(errno, EBADF);
}

}  // namespace
}  // namespace linac
