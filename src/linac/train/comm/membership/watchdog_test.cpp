#include "linac/train/comm/membership/watchdog.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <future>
#include <thread>

#include "linac/base/base/piece_of_work.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""ms;
using std::literals::chrono_literals::operator""s;
using Post = Watchdog::Post;

TEST(Watchdog, NamesThePostThatHangs) {
  std::promise<std::string> said;
  Watchdog watchdog(60ms, [&](const std::string& what, double) { said.set_value(what); });
  watchdog.mark(Post::kTraining, "waiting for others", -1, false);
  watchdog.mark(Post::kViews, "writing view", 7, true);
  auto verdict = said.get_future();
  ASSERT_EQ(verdict.wait_for(10s), std::future_status::ready);
  EXPECT_EQ(verdict.get(), "writing view 7");
}

TEST(Watchdog, IsQuietWhileThePostsGoOn) {
  std::atomic<int> said = 0;
  Watchdog watchdog(2s, [&](const std::string&, double) { ++said; });
  watchdog.mark(Post::kTraining, "step", -1, true);
  for (int i = 0; i < 10; ++i) {
    std::this_thread::sleep_for(5ms);
    watchdog.mark(Post::kTraining, "step", i, true);
  }
  EXPECT_EQ(watchdog.activity(Post::kTraining).what, "step 9");
  EXPECT_FALSE(watchdog.activity(Post::kTraining).waiting);
  EXPECT_EQ(said, 0);
}

// A checkpoint that is written in the background hangs, whatever pieces of work the training counts meanwhile.
TEST(Watchdog, PiecesOfTheTrainingDoNotHideAFileThatHangs) {
  std::promise<std::string> said;
  Watchdog watchdog(100ms, [&](const std::string& what, double) { said.set_value(what); });
  watchdog.mark(Post::kTraining, "test, replica", 0, true);
  watchdog.mark(Post::kCheckpoint, "writing a checkpoint", -1, true);
  auto verdict = said.get_future();
  const auto begin = std::chrono::steady_clock::now();
  while (verdict.wait_for(10ms) != std::future_status::ready && std::chrono::steady_clock::now() - begin < 10s)
    piece_is_done();
  ASSERT_EQ(verdict.wait_for(0s), std::future_status::ready);
  EXPECT_EQ(verdict.get(), "writing a checkpoint");
}

// A phase of the training lasts longer than the limit, and counts what it does; then it hangs in its midst.
TEST(Watchdog, PiecesOfWorkAreProgressOfTheTraining) {
  std::promise<double> said;
  Watchdog watchdog(200ms, [&](const std::string&, double seconds) { said.set_value(seconds); });
  watchdog.mark(Post::kTraining, "test, replica", 0, true);
  auto verdict = said.get_future();
  for (int i = 0; i < 30; ++i) {
    piece_is_done();
    ASSERT_EQ(verdict.wait_for(20ms), std::future_status::timeout) << "after " << i << " pieces";
  }
  ASSERT_EQ(verdict.wait_for(10s), std::future_status::ready);
  EXPECT_LT(verdict.get(), 0.6);
}

// The training computes, and another program has its processor.
TEST(Watchdog, AThreadWithoutAProcessorDoesNotHang) {
  std::atomic<bool> over = false;
  const auto compute = [&, here = sched_getcpu()](int policy) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(here, &one);
    const sched_param none{};
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(sched_setscheduler(0, policy, &none), 0);
    while (!over) {
    }
  };
  std::thread other(compute, SCHED_OTHER), training(compute, SCHED_IDLE);
  std::promise<double> said;
  auto verdict = said.get_future();
  const auto begin = std::chrono::steady_clock::now();
  Watchdog watchdog(200ms, [&](const std::string&, double) {
    said.set_value(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  });
  watchdog.mark(Post::kTraining, "step", 0, true);
  ASSERT_EQ(verdict.wait_for(30s), std::future_status::ready) << "it computes in vain";
  over = true;
  other.join();
  training.join();
  EXPECT_GT(verdict.get(), 0.4);
}

}  // namespace
}  // namespace linac::comm
