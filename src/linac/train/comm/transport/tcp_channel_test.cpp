// Groups within a group, between real processes (test_tcp_workers.h).

#include "linac/train/comm/transport/tcp_channel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/comm/test_stores.h"
#include "linac/train/comm/test_tcp_workers.h"

namespace linac::comm {
namespace testing {
namespace {

constexpr size_t kManyFloats = 300'000;
constexpr int kRounds = 20;

bool sums_of_the_ranks(Group& group, float unit) {
  const int size = group.size();
  for (int round = 0; round < kRounds; ++round) {
    std::vector<float> mine(kManyFloats, unit * static_cast<float>(group.rank() + round)), sum(kManyFloats);
    const std::vector<std::span<float>> views{mine};
    ReplicaSum(group, size).reduce(views, sum);
    const float expected = unit * static_cast<float>(size * (size - 1) / 2 + size * round);
    if (sum.front() != expected || sum.back() != expected) return false;
  }
  return true;
}

std::string told(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.code() == ErrorCode::kPeerLost ? error.what() : std::string("another error: ") + error.what();
  }
  return "nothing was thrown";
}

}  // namespace

// Parts and the whole group, each busy on a thread of its own.
int channels_role(Group& group, std::ostream& out) {
  const int me = group.rank();
  const auto half = group.split(me % 2, -me, "half");
  const auto other = group.channel("other");
  const auto alone = group.split(me == 2 ? 7 : Group::kNoColour, 0, "alone");
  const auto third = group.channel("third");
  if (half->size() != 2 || half->rank() != (me < 2 ? 1 : 0)) return 31;  // the higher rank comes first
  if ((alone != nullptr) != (me == 2) || (alone && alone->size() != 1)) return 32;
  const auto quarter = half->split(half->rank(), 0, "quarter");
  if (quarter->size() != 1) return 33;
  std::vector<int> good(4, 0);
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { good[0] = sums_of_the_ranks(*half, 1 + static_cast<float>(me % 2)); });
    threads.emplace_back([&] { good[1] = sums_of_the_ranks(*other, 4); });
    threads.emplace_back([&] { good[2] = sums_of_the_ranks(*third, 16); });
    good[3] = sums_of_the_ranks(group, 8);
  }
  out << good[0] << good[1] << good[2] << good[3] << std::endl;
  if (group.traffic().bytes == 0 || half->traffic().bytes == 0) return 34;
  group.barrier();
  // One asks for something else than the others.
  const auto refused = told([&] { group.channel(me == 1 ? "theirs" : "ours"); });
  out << refused << std::endl;
  return 0;
}

// Rank 1 never comes to the one channel, and says one thing only in the other.
int unanswered_channel_role(Group& group, std::ostream& out) {
  const auto work = group.channel("work");
  std::vector<float> data(1);
  if (group.rank() == 0) {
    out << told([&] { work->receive(data, 1, 0); }) << std::endl;
    const auto again = group.channel("again");
    again->receive(data, 1, 0);
    out << told([&] { again->receive(data, 1, 0); }) << std::endl;
    group.barrier();
  } else {
    // As long as rank 0 waits, nearly: this one's patience has an end too.
    std::this_thread::sleep_for(kSlowness * std::chrono::milliseconds(1500));
    const auto again = group.channel("again");
    again->send(data, 0, 0);
    std::this_thread::sleep_for(kSlowness * std::chrono::milliseconds(1500));
    group.barrier();
  }
  return 0;
}

// Threads that all wait when a member is lost; then the next view, where what was made in the last one is of no use.
int many_waits_role(Group& group, std::ostream& out) {
  std::unique_ptr<Group> pair = group.split(0, 0, "all"), other = group.channel("other");
  const int last = group.size() - 1;
  const bool victim = group.rank() == last;
  group.barrier();
  out << "ready" << std::endl;
  std::mutex mutex;
  std::vector<float> data(1), more(1), most(1);
  const auto wait = [&](const char* what, const std::function<void()>& work) {
    const std::string said = told(work);
    const std::lock_guard lock(mutex);
    out << what << " " << now_ms() << " " << said << std::endl;
  };
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] { wait("part", [&] { pair->receive(data, victim ? 0 : last, 1); }); });
    threads.emplace_back([&] { wait("other", [&] { other->receive(more, victim ? 0 : last, 1); }); });
    wait("whole", [&] { group.receive(most, victim ? 0 : last, 1); });
    if (!group.next_view("a member was lost")) return 41;
  }
  const auto stale = told([&] { pair->send(data, group.rank() == 0 ? 1 : 0, 2); });
  const auto stale_other = told([&] { other->receive(data, group.rank() == 0 ? 1 : 0, 2); });
  pair = group.split(0, -group.rank(), "all");
  const bool good = sums_of_the_ranks(*pair, 1) && pair->size() == last;
  out << "stale " << stale << "\nstale " << stale_other << "\nagain " << good << std::endl;
  group.barrier();
  return 0;
}

// Sums that several threads move, until a member is lost; then in the next view.
int large_sums_role(Group& group, std::ostream& out) {
  constexpr size_t kLargeFloats = size_t{1} << 21;
  const auto sum_is_right = [&] {
    std::vector<float> mine(kLargeFloats, static_cast<float>(group.rank())), sum(kLargeFloats);
    const std::vector<std::span<float>> views{mine};
    ReplicaSum(group, group.size()).reduce(views, sum);
    const float expected = static_cast<float>(group.size() * (group.size() - 1) / 2);
    return std::all_of(sum.begin(), sum.end(), [&](float value) { return value == expected; });
  };
  if (!sum_is_right()) return 51;
  out << "ready" << std::endl;
  const std::string said = told([&] {
    while (sum_is_right()) continue;
  });
  out << "lost " << now_ms() << " " << said << std::endl;
  if (!group.next_view("a member was lost")) return 52;
  if (!sum_is_right()) return 53;
  group.barrier();
  return 0;
}

namespace {

class TcpChannels : public TcpWorkers {};

TEST_F(TcpChannels, ALostMemberEndsWhatSeveralThreadsMove) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 3; ++rank) start("large", rank, 3, store->port(), true);
  wait_until_ready();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int64_t killed_ms = now_ms();
  kill(workers_[2].pid, SIGKILL);
  EXPECT_EQ(wait_for(workers_[2]), 128 + SIGKILL);
  for (int rank = 0; rank < 2; ++rank) {
    auto& worker = workers_[static_cast<size_t>(rank)];
    EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
    const auto said = file_text(worker.out);
    const size_t at = said.find("lost ");
    ASSERT_NE(at, std::string::npos) << said;
    EXPECT_LT(std::stoll(said.substr(at + 5)) - killed_ms, kSlowness * 2000) << said;
    EXPECT_NE(said.find(fmt::format("[comm] rank {}: exchange: ", rank)), std::string::npos) << said;
  }
}

TEST_F(TcpChannels, ExchangeAtTheSameTimeAndRefuseWhatDoesNotMatch) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 4; ++rank) start("channels", rank, 4, store->port(), true);
  for (auto& worker : workers_) {
    EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
    const auto said = file_text(worker.out);
    EXPECT_TRUE(said.starts_with("1111\n")) << said;
    EXPECT_NE(said.find("opens another channel than"), std::string::npos) << said;
  }
}

TEST_F(TcpChannels, AChannelThatNobodyAnswersIsNamedAtTheTimeout) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 2; ++rank) start("channel", rank, 2, store->port(), true);
  for (auto& worker : workers_) EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
  const auto said = file_text(workers_[0].out);
  EXPECT_NE(said.find("rank 0: receive in 'work': rank 1 has ended or does not answer (no connection in time)"),
            std::string::npos)
      << said;
  EXPECT_NE(said.find("rank 0: receive in 'again': rank 1 has ended or does not answer (timed out)"), std::string::npos)
      << said;
}

TEST_F(TcpChannels, ALostMemberEndsAllWaitsAndTheNextViewHasNewParts) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 3; ++rank) start("waits", rank, 3, store->port(), true);
  wait_until_ready();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  const int64_t killed_ms = now_ms();
  kill(workers_[2].pid, SIGKILL);
  EXPECT_EQ(wait_for(workers_[2]), 128 + SIGKILL);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(wait_for(workers_[static_cast<size_t>(rank)]), 0);
    const auto said = file_text(workers_[static_cast<size_t>(rank)].out);
    for (const std::string what : {"part ", "other ", "whole "}) {
      const size_t at = said.find("\n" + what);
      ASSERT_NE(at, std::string::npos) << said;
      EXPECT_LT(std::stoll(said.substr(at + 1 + what.size())) - killed_ms, kSlowness * 5000) << said;
      EXPECT_NE(said.find(fmt::format("[comm] rank {}: ", rank), at), std::string::npos) << said;
    }
    EXPECT_NE(said.find("stale [comm]"), std::string::npos) << said;
    EXPECT_NE(said.find("again 1"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace testing
}  // namespace linac::comm
