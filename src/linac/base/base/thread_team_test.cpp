#include "linac/base/base/thread_team.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <stdexcept>

namespace linac {
namespace {

TEST(ThreadTeam, RunsEachTaskOnceInEverySection) {
  for (const int threads : {1, 2, 5}) {
    ThreadTeam team(threads);
    EXPECT_EQ(team.threads(), threads);
    for (int64_t section = 0; section < 2000; ++section) {
      std::vector<int64_t> calls(static_cast<size_t>(section % 23));
      team.run(section % 23, [&](int64_t i) { calls[static_cast<size_t>(i)] += i + section; });
      for (size_t i = 0; i < calls.size(); ++i) ASSERT_EQ(calls[i], static_cast<int64_t>(i) + section);
    }
  }
}

TEST(ThreadTeam, ItsHelpersComputeToo) {
  ThreadTeam team(3);
  std::mutex mutex;
  std::set<std::thread::id> threads;
  const auto all_met = [&] {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return threads.size() == 3;
  };
  team.run(3, [&](int64_t) {
    while (!all_met()) std::this_thread::yield();
  });
  EXPECT_TRUE(threads.contains(std::this_thread::get_id()));
}

TEST(ThreadTeam, WakesHelpersThatFellAsleep) {
  ThreadTeam team(2);
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::atomic<int> met{0};
    team.run(2, [&](int64_t) {
      ++met;
      while (met < 2) std::this_thread::yield();
    });
    EXPECT_EQ(met, 2);
  }
}

TEST(ThreadTeam, RethrowsAFailureLeavesTheRestAndGoesOn) {
  ThreadTeam team(2);
  std::atomic<int64_t> ran{0};
  const auto task = [&](int64_t i) {
    ++ran;
    if (i == 1) throw std::runtime_error("one");
  };
  EXPECT_THROW(team.run(int64_t{1} << 40, task), std::runtime_error);
  EXPECT_GE(ran, 2);
  ran = 0;
  team.run(1, task);
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace linac
