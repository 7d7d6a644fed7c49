#include "linac/base/base/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace linac {
namespace {

TEST(ThreadPool, RunsEachTaskOnceAndWaits) {
  ThreadPool pool(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> calls(17);
    pool.run(17, [&](int i) { ++calls[static_cast<size_t>(i)]; });
    for (const int n : calls) ASSERT_EQ(n, 1);
  }
}

TEST(ThreadPool, RethrowsTheFirstTasksFailureAndGoesOn) {
  ThreadPool pool(2);
  std::atomic<int> ran{0};
  const auto task = [&](int i) {
    ++ran;
    if (i >= 3) throw std::runtime_error(std::to_string(i));
  };
  try {
    pool.run(6, task);
    FAIL() << "no exception";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "3");
  }
  EXPECT_EQ(ran, 6);
  pool.run(2, [&](int) { ++ran; });
  EXPECT_EQ(ran, 8);
}

TEST(ThreadPool, PreparesEveryThread) {
  std::atomic<int> prepared{0};
  {
    ThreadPool pool(4, [&] { ++prepared; });
    pool.run(4, [](int) {});
  }
  EXPECT_EQ(prepared, 4);
}

}  // namespace
}  // namespace linac
