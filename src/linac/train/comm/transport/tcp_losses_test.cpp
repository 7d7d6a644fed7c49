// Workers that are lost, halted and let in, and ledgers that fail: real processes, as in tcp_group_test.cpp.

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/membership/view_ledger.h"
#include "linac/train/comm/test_stores.h"
#include "linac/train/comm/test_tcp_workers.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ms;
using testing::Clock;
using testing::file_text;
using testing::host_store;
using testing::kSlowness;
using testing::now_ms;

int last_step(const std::string& text) {
  const size_t last = text.rfind("step ");
  return last == std::string::npos ? 0 : std::atoi(text.c_str() + last + 5);
}

class TcpLosses : public testing::TcpWorkers {};

TEST_F(TcpLosses, AKilledProcessEndsTheOthersAtOnce) {
  for (int victim = 0; victim < 3; ++victim) {
    SCOPED_TRACE(fmt::format("rank {} is killed", victim));
    for (auto& worker : workers_) unlink(worker.out.c_str());
    workers_.clear();
    const auto store = host_store("127.0.0.1");
    for (int rank = 0; rank < 3; ++rank) start("until_lost", rank, 3, store->port(), true);
    wait_until_ready();
    std::this_thread::sleep_for(100ms);
    const int64_t killed_ms = now_ms();
    kill(workers_[victim].pid, SIGKILL);
    EXPECT_EQ(wait_for(workers_[victim]), 128 + SIGKILL);
    for (int rank = 0; rank < 3; ++rank) {
      if (rank == victim) continue;
      EXPECT_EQ(wait_for(workers_[rank]), static_cast<int>(ErrorCode::kPeerLost));
      const auto said = file_text(workers_[rank].out).substr(6);
      const int64_t noticed_ms = std::stoll(said) - killed_ms;
      fmt::print("rank {} noticed after {} ms:{}", rank, noticed_ms, said.substr(said.find(' ')));
      EXPECT_LT(noticed_ms, kSlowness * 5000);
      EXPECT_NE(said.find(fmt::format("[comm] rank {}: ", rank)), std::string::npos) << said;
    }
  }
}

TEST_F(TcpLosses, AStuckProcessEndsTheOthersAtTheTimeout) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 3; ++rank) start("until_stuck", rank, 3, store->port(), true);
  wait_until_ready();
  const int64_t stopped_ms = now_ms();
  kill(workers_[2].pid, SIGSTOP);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(wait_for(workers_[rank]), static_cast<int>(ErrorCode::kPeerLost));
    const auto said = file_text(workers_[rank].out).substr(6);
    const int64_t noticed_ms = std::stoll(said) - stopped_ms;
    EXPECT_LT(noticed_ms, kSlowness * 2 * 6000) << said;
    EXPECT_GT(noticed_ms, kSlowness * 3000) << said;
  }
}

// Killed workers (the most senior twice), one halted and going on later, newcomers: the bits of an undisturbed run.
TEST_F(TcpLosses, TheTrainingGoesOnThroughLossesAndNewcomers) {
  const auto await_step = [&](size_t worker, int step) {
    for (const auto end = Clock::now() + kSlowness * 40s; Clock::now() < end; std::this_thread::sleep_for(1ms)) {
      if (last_step(file_text(workers_[worker].out)) >= step) return;
    }
    FAIL() << "step " << step << " is never done: " << file_text(workers_[worker].out);
  };
  const auto undisturbed_store = host_store("127.0.0.1");
  for (int rank = 0; rank < 2; ++rank) start("endure", rank, 2, undisturbed_store->port(), true);
  for (auto& worker : workers_) EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
  const std::string all = file_text(workers_[0].out), expected = all.substr(all.rfind('\n', all.size() - 2));
  std::filesystem::remove_all(folder_.path() / "views");

  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 4; ++rank) start("endure", rank, 4, store->port(), true);  // 2 to 5
  await_step(5, 20);
  kill(workers_[2].pid, SIGKILL);
  await_step(5, 50);
  start("endure", 0, 1, 0, true, true);  // 6
  await_step(6, 80);
  kill(workers_[4].pid, SIGSTOP);
  kill(workers_[3].pid, SIGKILL);
  await_step(5, 130);
  kill(workers_[4].pid, SIGCONT);
  start("endure", 0, 1, 0, true, true);  // 7
  await_step(7, 200);
  await_step(4, 200);
  kill(workers_[5].pid, SIGKILL);
  for (const size_t victim : {2, 3, 5}) EXPECT_EQ(wait_for(workers_[victim]), 128 + SIGKILL);
  for (const size_t survivor : {4, 6, 7}) {
    EXPECT_EQ(wait_for(workers_[survivor]), 0) << file_text(workers_[survivor].out);
    EXPECT_TRUE(file_text(workers_[survivor].out).ends_with(expected)) << file_text(workers_[survivor].out);
  }
}

// The views cannot be written down any more when the next one is due: an error of the workers, not the end of their
// processes by std::terminate.
TEST_F(TcpLosses, ALedgerThatFailsIsAnEnvironmentError) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 3; ++rank) start("endure", rank, 3, store->port(), true);
  for (const auto end = Clock::now() + kSlowness * 40s; last_step(file_text(workers_[0].out)) < 20;) {
    ASSERT_LT(Clock::now(), end) << file_text(workers_[0].out);
    std::this_thread::sleep_for(1ms);
  }
  const auto views = folder_.path() / "views";
  std::filesystem::rename(views, folder_.path() / "elsewhere");
  std::ofstream(views) << "no folder";
  kill(workers_[2].pid, SIGKILL);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(wait_for(workers_[rank]), static_cast<int>(ErrorCode::kEnvironment));
    const auto said = file_text(workers_[rank].out);
    EXPECT_NE(said.find(views.string()), std::string::npos) << said;
    EXPECT_NE(said.find("the views of the run cannot be written down"), std::string::npos) << said;
  }
}

// A full disk that all share: no coordinator is to leave for it, and the run goes on once there is room.
TEST_F(TcpLosses, ALedgerThatFailsForAWhileCostsNobody) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 3; ++rank) start("endure", rank, 3, store->port(), true);
  for (const auto end = Clock::now() + kSlowness * 40s; last_step(file_text(workers_[0].out)) < 20;) {
    ASSERT_LT(Clock::now(), end) << file_text(workers_[0].out);
    std::this_thread::sleep_for(1ms);
  }
  const auto views = folder_.path() / "views", elsewhere = folder_.path() / "elsewhere";
  std::filesystem::rename(views, elsewhere);
  std::ofstream(views) << "no folder";
  kill(workers_[2].pid, SIGKILL);
  std::this_thread::sleep_for(1s);
  std::filesystem::remove(views);
  std::filesystem::rename(elsewhere, views);
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(wait_for(workers_[rank]), 0) << file_text(workers_[rank].out);
  EXPECT_EQ(ViewLedger::join_addresses(views).size(), 2);
}

}  // namespace
}  // namespace linac::comm
