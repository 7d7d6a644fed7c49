// Real processes over TCP on the loopback interface (test_tcp_workers.h), each with one of the roles below.

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <bit>
#include <cstdlib>
#include <fstream>
#include <future>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/rng.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/io/relay/addresses.h"
#include "linac/io/relay/server.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/founding.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/meeting/run_key.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/membership/view_ledger.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/comm/test_stores.h"
#include "linac/train/comm/test_tcp_workers.h"
#include "linac/train/comm/transport/control_links.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ms;
using testing::Clock;
using testing::file_text;
using testing::has_ipv6;
using testing::host_store;
using testing::kSlowness;
using testing::now_ms;
using testing::Worker;

constexpr int kReplicas = 5;
constexpr size_t kFloats = 600'000;
constexpr auto kTimeout = kSlowness * 20s;
constexpr auto kStuckTimeout = kSlowness * 6s;

std::vector<float> replica_values(int replica) {
  std::vector<float> values(kFloats);
  fill_normal({.seed = 3, .stream = Stream::kNoise, .replica = static_cast<uint32_t>(replica)}, values);
  for (size_t i = 0; i < kFloats; ++i) values[i] *= static_cast<float>(1 << (i * 7 % 23));
  return values;
}

std::string digest(std::span<const float> values) {
  uint64_t hash = 14695981039346656037ULL;
  for (const float value : values) hash = (hash ^ std::bit_cast<uint32_t>(value)) * 1099511628211ULL;
  return fmt::format("{:016x}", hash);
}

// Every operation once; writes the digest of the sum.
int collectives_role(Group& group, std::ostream& out) {
  std::vector<float> data(1000, static_cast<float>(group.rank()));
  group.broadcast(data, group.size() - 1);
  if (data[999] != static_cast<float>(group.size() - 1)) return 21;
  const auto texts = group.gather_text(fmt::format("I am {}", group.rank()));
  if (group.rank() == 0 && texts.back() != fmt::format("I am {}", group.size() - 1)) return 22;

  std::vector<std::vector<float>> mine;
  for (const int replica : owned_replicas(kReplicas, group.view(), group.rank())) {
    mine.push_back(replica_values(replica));
  }
  const std::vector<std::span<float>> views(mine.begin(), mine.end());
  std::vector<float> result(kFloats);
  ReplicaSum sum(group, kReplicas);
  sum.reduce(views, result);
  out << digest(result) << std::endl;
  for (int round = 0; round < 50; ++round) group.barrier();
  return group.size() > 1 && group.traffic().bytes == 0 ? 23 : 0;
}

// Exchanges until a peer is lost; writes when that was noticed and what was said.
int until_lost_role(Group& group, std::ostream& out) {
  out << "ready" << std::endl;
  try {
    std::vector<float> data(100'000);
    const auto end = Clock::now() + kSlowness * 60s;
    while (Clock::now() < end) {
      std::vector<std::vector<float>> mine(owned_replicas(3, group.view(), group.rank()).size(), data);
      const std::vector<std::span<float>> views(mine.begin(), mine.end());
      ReplicaSum(group, 3).reduce(views, data);
    }
  } catch (const Error& error) {
    out << now_ms() << " " << error.what() << std::endl;
    return static_cast<int>(error.code());
  }
  return 24;
}

// A training in small: every step depends on the one before and on all replicas. Views come and go; writes each step
// that it finishes, and at the end the state's digest.
int endure_role(Group& group, std::ostream& out) {
  constexpr int64_t kSteps = 300;
  std::vector<float> state(50'000, 1), sum(state.size());
  Moment stands{0, 0, 0};
  bool entered = false;
  if (group.size() == 0 && !group.next_view("")) return 25;
  while (stands.steps < kSteps) {
    try {
      if (!entered) {
        std::vector<float> steps{static_cast<float>(stands.steps)};
        group.broadcast(state, group.view().source());
        group.broadcast(steps, group.view().source());
        stands.steps = static_cast<int64_t>(steps[0]);
        entered = group.commit(stands);
        continue;
      }
      group.mark("computing");
      std::this_thread::sleep_for(5ms);
      std::vector<std::vector<float>> mine;
      for (const int replica : owned_replicas(kReplicas, group.view(), group.rank())) {
        mine.push_back(state);
        for (float& value : mine.back()) value = value * 0.37f + 0.001f * static_cast<float>(replica + 1);
      }
      std::vector<float> wish{group.wants_next_view() ? 1.0f : 0.0f};
      group.broadcast(wish, 0);
      ReplicaSum(group, kReplicas).reduce({std::vector<std::span<float>>(mine.begin(), mine.end())}, sum);
      const Moment next{0, stands.steps + 1, 0};
      if (!group.commit(next)) throw Error(ErrorCode::kPeerLost, "the view was left");
      stands = next;
      state = sum;
      out << "step " << stands.steps << std::endl;
      if (wish[0] == 0) continue;
      group.barrier();
      throw Error(ErrorCode::kPeerLost, "newcomers wait");
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPeerLost) throw;
      if (!group.next_view(error.what())) return 0;
      entered = false;
    }
  }
  out << digest(state) << std::endl;
  try {
    group.barrier();
  } catch (const Error&) {
    // Another one was faster, and has ended the run.
  }
  group.finish();
  return 0;
}

// Two that do not agree on what is due; in every view again.
int mismatch_role(Group& group, std::ostream&) {
  std::vector<float> data(10);
  for (;;) {
    try {
      if (group.rank() == 0) group.send(data, 1, 1);
      group.receive(data, 1 - group.rank(), 2);
      return 27;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPeerLost) throw;
      if (!group.next_view(error.what())) return 28;
    }
  }
}

GroupSettings settings_of(const std::string& role) {
  GroupSettings settings{.join_timeout = kTimeout, .stall_timeout = kTimeout};
  if (role == "join") settings.join_timeout = 1500ms;
  if (role == "channel") settings.stall_timeout = kSlowness * 500ms;
  if (role == "until_stuck") settings.stall_timeout = kStuckTimeout;
  if (role == "endure") settings.stall_timeout = kSlowness * 1500ms;
  if (const char* const folder = std::getenv("LINAC_TEST_FOLDER")) settings.folder = folder;
  if (std::getenv("LINAC_TEST_JOIN") != nullptr)
    settings.join_addresses = ViewLedger::join_addresses(settings.folder / "views");
  settings.on_hang = [](const Error& error) {
    std::ofstream(std::getenv("LINAC_TEST_OUT"), std::ios::app) << error.what() << std::endl;
    _exit(static_cast<int>(error.code()));
  };
  return settings;
}

// Runs in the workers only; `make_group` and the role's result become the exit status.
TEST(TcpWorker, Role) {
  const char* const role = std::getenv("LINAC_TEST_ROLE");
  if (role == nullptr) GTEST_SKIP() << "runs in the worker processes";
  catch_stop_signals();
  log::set_file(std::string(std::getenv("LINAC_TEST_OUT")) + ".log");
  std::ofstream out(std::getenv("LINAC_TEST_OUT"));
  int status = 1;
  try {
    const auto group = make_group(rendezvous_from_environment(), settings_of(role), *testing::chosen_stores());
    status = role == std::string("collectives") ? collectives_role(*group, out)
             : role == std::string("mismatch")  ? mismatch_role(*group, out)
             : role == std::string("endure")    ? endure_role(*group, out)
             : role == std::string("channels")  ? testing::channels_role(*group, out)
             : role == std::string("channel")   ? testing::unanswered_channel_role(*group, out)
             : role == std::string("waits")     ? testing::many_waits_role(*group, out)
             : role == std::string("large")     ? testing::large_sums_role(*group, out)
                                                : until_lost_role(*group, out);
  } catch (const Error& error) {
    out << now_ms() << " " << error.what() << std::endl;
    status = static_cast<int>(error.code());
  }
  _exit(status);
}

class TcpGroups : public testing::TcpWorkers {};

TEST_F(TcpGroups, TheSameBitsOnOneToFourProcesses) {
  std::vector<std::vector<float>> values;
  for (int replica = 0; replica < kReplicas; ++replica) values.push_back(replica_values(replica));
  const std::vector<std::span<const float>> views(values.begin(), values.end());
  std::vector<float> sum(kFloats);
  tree_sum(views, sum);
  const auto expected = digest(sum) + "\n";

  for (int world_size = 1; world_size <= 4; ++world_size) {
    const auto store = host_store("127.0.0.1");
    ASSERT_GT(store->port(), 0);
    const size_t first = workers_.size();
    for (int rank = 0; rank < world_size; ++rank) start("collectives", rank, world_size, store->port(), true);
    for (size_t i = first; i < workers_.size(); ++i) {
      EXPECT_EQ(wait_for(workers_[i]), 0) << file_text(workers_[i].out);
      EXPECT_EQ(file_text(workers_[i].out), expected) << world_size << " processes";
    }
  }
}

TEST_F(TcpGroups, RankZeroHostsTheStoreWhenNoLauncherDoes) {
  const int probe = listen_at("127.0.0.1", 0);
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  ASSERT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(probe);
  for (int rank = 1; rank >= 0; --rank) start("collectives", rank, 2, ntohs(address.sin_port), false);
  for (auto& worker : workers_) EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
  EXPECT_EQ(file_text(workers_[0].out), file_text(workers_[1].out));
}

TEST_F(TcpGroups, MeetAndTrainOverIPv6) {
  if (!has_ipv6()) GTEST_SKIP() << "this host has no IPv6";
  const int probe = listen_at("::1", 0), port = port_of(probe);
  close(probe);
  master_ = "::1";
  for (int rank = 1; rank >= 0; --rank) start("collectives", rank, 2, port, false);
  for (auto& worker : workers_) EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
  EXPECT_EQ(file_text(workers_[0].out), file_text(workers_[1].out));
}

// The store is at the address of this machine that leads elsewhere, the workers say that they are to be found at
// another.
TEST_F(TcpGroups, MeetAtOneAddressAndExchangeAtAnother) {
  const int probe = listen_at(any_address(), 0), port = port_of(probe);
  close(probe);
  try {
    master_ = local_address_towards("192.0.2.1", 1);
  } catch (const Error&) {
  }
  if (is_loopback(master_)) GTEST_SKIP() << "this host has a loopback interface only";
  further_ = {"LINAC_ADVERTISE=127.0.0.1", fmt::format("LINAC_PORTS={}-{}", port + 1, port + 20)};
  for (int rank = 1; rank >= 0; --rank) start("collectives", rank, 2, port, false);
  for (auto& worker : workers_) EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
  EXPECT_EQ(file_text(workers_[0].out), file_text(workers_[1].out));
}

// One of two workers that reach each other, and one that is alone: all sum to the same bits.
TEST_F(TcpGroups, GroupsMeetByARelay) {
  relay::Server relay;
  Descriptor listener = relay::listen_at(relay::look_up("127.0.0.1:0", "test", true));
  const std::vector<std::string> common{"LINAC_RUN_KEY=" + RunKey::draw().text(), "LINAC_GROUPS=near:2,far:1",
                                        "LINAC_RELAY=" + relay::listening_at(listener.get())};
  relay.listen(std::move(listener));
  auto works = std::async(std::launch::async, [&] { relay.run(); });
  const auto start_in = [&](const std::string& group, int rank, int world_size) {
    further_ = common;
    further_.push_back("LINAC_GROUP=" + group);
    start("collectives", rank, world_size, 1, false);
  };
  start_in("far", 0, 1);
  for (int rank = 1; rank >= 0; --rank) start_in("near", rank, 2);
  for (auto& worker : workers_) EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
  EXPECT_EQ(file_text(workers_[0].out), file_text(workers_[1].out));
  EXPECT_EQ(file_text(workers_[0].out), file_text(workers_[2].out));
  EXPECT_GT(relay.facts().bytes, uint64_t{kFloats} * sizeof(float)) << "of the sum, by the relay";
  relay.stop();
  works.get();
}

// What stands at the meeting place is taken from those with the same key only.
TEST_F(TcpGroups, WorkersWithOtherKeysDoNotMeet) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 2; ++rank) {
    further_ = {"LINAC_RUN_KEY=" + RunKey::draw().text()};
    start("collectives", rank, 2, store->port(), true);
  }
  EXPECT_EQ(wait_for(workers_[1]), static_cast<int>(ErrorCode::kUser));
  EXPECT_NE(file_text(workers_[1].out).find("LINAC_RUN_KEY"), std::string::npos) << file_text(workers_[1].out);
  EXPECT_FALSE(founded(*store));
}

TEST_F(TcpGroups, TheMeetingPlaceMayCloseOnceAllHaveMet) {
  auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 2; ++rank) start("until_lost", rank, 2, store->port(), true);
  wait_until_ready();
  for (const auto end = Clock::now() + kTimeout; !founded(*store) && Clock::now() < end;)
    std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(founded(*store));
  store.reset();
  std::this_thread::sleep_for(200ms);
  for (const Worker& worker : workers_) EXPECT_EQ(waitpid(worker.pid, nullptr, WNOHANG), 0) << file_text(worker.out);
}

// The launcher hosts the store, the workers write to each other: both outlive a peer that dies between two writes.
TEST_F(TcpGroups, AWriteToADeadPeerIsAnErrorAndNoSignal) {
  ASSERT_NE(signal(SIGPIPE, SIG_DFL), SIG_ERR);
  const auto store = host_store("127.0.0.1");
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[1]);
  EXPECT_EQ(write(ends[0], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[0]);
}

TEST_F(TcpGroups, WorkersThatNeverAgreeEndWithAVerdict) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 2; ++rank) start("mismatch", rank, 2, store->port(), true);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(wait_for(workers_[rank]), static_cast<int>(ErrorCode::kPeerLost));
    const auto said = file_text(workers_[rank].out);
    EXPECT_NE(said.find("views in a row came to nothing"), std::string::npos) << said;
  }
}

TEST_F(TcpGroups, MissingRanksAreNamed) {
  const auto store = host_store("127.0.0.1");
  start("join", 0, 3, store->port(), true);
  EXPECT_EQ(wait_for(workers_[0]), static_cast<int>(ErrorCode::kPeerLost));
  const auto said = file_text(workers_[0].out);
  EXPECT_NE(said.find("of 3 ranks, 1, 2 did not join within 1.5 s"), std::string::npos) << said;
  const auto log = file_text(workers_[0].out + ".log");
  EXPECT_NE(log.find("rank 0 waits for rank 1, 2 of 3"), std::string::npos) << log;
}

// Whoever waits for others hears that it is to stop, at the store and before it.
TEST_F(TcpGroups, AWaitForOthersEndsWithTheFirstSignal) {
  const auto store = host_store("127.0.0.1");
  start("collectives", 0, 2, store->port(), true);
  int closed = 0;
  { closed = host_store("127.0.0.1")->port(); }
  start("collectives", 1, 2, closed, true);
  for (auto& worker : workers_) {
    for (const auto end = Clock::now() + kTimeout; !std::filesystem::exists(worker.out) && Clock::now() < end;)
      std::this_thread::sleep_for(5ms);
    kill(worker.pid, SIGTERM);
  }
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(wait_for(workers_[rank]), static_cast<int>(ErrorCode::kPreempted));
    const auto said = file_text(workers_[rank].out);
    EXPECT_NE(said.find(fmt::format("asked to stop (Terminated) while it waited for rank {}", 1 - rank)),
              std::string::npos)
        << said;
  }
}

TEST_F(TcpGroups, AnAbsentStoreIsAnErrorWithinTheTimeout) {
  int port = 0;
  { port = host_store("127.0.0.1")->port(); }
  start("join", 1, 2, port, true);
  EXPECT_EQ(wait_for(workers_[0]), static_cast<int>(ErrorCode::kPeerLost));
  const auto said = file_text(workers_[0].out);
  EXPECT_NE(said.find("no answer from the store at 127.0.0.1"), std::string::npos) << said;
}

}  // namespace
}  // namespace linac::comm
