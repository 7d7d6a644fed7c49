// Real processes over TCP on the loopback interface. The workers are this program again, asked by the environment to
// run one of the roles below.

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
#include <thread>

#include "linac/base/error.h"
#include "linac/base/rng.h"
#include "linac/base/test_folder.h"
#include "linac/comm/group.h"
#include "linac/comm/replica_sum.h"
#include "linac/comm/sockets.h"
#include "linac/comm/store_host.h"

namespace linac::comm {
namespace {

using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ms;
using Clock = std::chrono::steady_clock;

constexpr int kReplicas = 5;
constexpr size_t kFloats = 600'000;
constexpr auto kTimeout = 20s;
constexpr auto kStuckTimeout = 6s;

int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

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
  for (const int replica : owned_replicas(kReplicas, group.rank(), group.size())) {
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
    const auto end = Clock::now() + 60s;
    while (Clock::now() < end) {
      std::vector<std::vector<float>> mine(owned_replicas(3, group.rank(), 3).size(), data);
      const std::vector<std::span<float>> views(mine.begin(), mine.end());
      ReplicaSum(group, 3).reduce(views, data);
    }
  } catch (const Error& error) {
    out << now_ms() << " " << error.what() << std::endl;
    return static_cast<int>(error.code());
  }
  return 24;
}

std::chrono::milliseconds timeout_of(const std::string& role) {
  if (role == "join") return 1500ms;
  return role == "until_stuck" ? kStuckTimeout : kTimeout;
}

// Runs in the workers only; `make_group` and the role's result become the exit status.
TEST(GlooWorker, Role) {
  const char* const role = std::getenv("LINAC_TEST_ROLE");
  if (role == nullptr) GTEST_SKIP() << "runs in the worker processes";
  std::ofstream out(std::getenv("LINAC_TEST_OUT"));
  int status = 1;
  try {
    const auto group = make_group(rendezvous_from_environment(), timeout_of(role));
    status = role == std::string("collectives") ? collectives_role(*group, out) : until_lost_role(*group, out);
  } catch (const Error& error) {
    out << now_ms() << " " << error.what() << std::endl;
    status = static_cast<int>(error.code());
  }
  _exit(status);
}

struct Worker {
  pid_t pid = 0;
  std::string out;
};

std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class GlooGroups : public testing::Test {
 protected:
  void TearDown() override {
    for (const auto& worker : workers_) {
      if (worker.pid > 0) kill(worker.pid, SIGKILL), waitpid(worker.pid, nullptr, 0);
    }
  }

  void start(const std::string& role, int rank, int world_size, int port, bool agent_store) {
    Worker worker{.out = folder_ / std::to_string(workers_.size())};
    std::vector<std::string> environment = {
        "LINAC_TEST_ROLE=" + role,
        "LINAC_TEST_OUT=" + worker.out,
        fmt::format("RANK={}", rank),
        fmt::format("WORLD_SIZE={}", world_size),
        fmt::format("LOCAL_RANK={}", rank),
        "MASTER_ADDR=127.0.0.1",
        fmt::format("MASTER_PORT={}", port),
        fmt::format("TORCHELASTIC_USE_AGENT_STORE={}", agent_store ? "True" : "False"),
    };
    if (const char* const path = std::getenv("LD_LIBRARY_PATH")) {
      environment.push_back(std::string("LD_LIBRARY_PATH=") + path);
    }
    std::vector<char*> envp;
    for (auto& entry : environment) envp.push_back(entry.data());
    envp.push_back(nullptr);
    std::string program = "comm_test", filter = "--gtest_filter=GlooWorker.Role", brief = "--gtest_brief=1";
    char* const argv[] = {program.data(), filter.data(), brief.data(), nullptr};
    worker.pid = fork();
    ASSERT_GE(worker.pid, 0);
    if (worker.pid == 0) {
      execve("/proc/self/exe", argv, envp.data());
      _exit(127);
    }
    workers_.push_back(worker);
  }

  // The exit status, or 128 + signal; a worker still running after the limit fails the test.
  int wait_for(Worker& worker, std::chrono::seconds limit = 40s) {
    int status = 0;
    for (const auto end = Clock::now() + limit; Clock::now() < end; std::this_thread::sleep_for(2ms)) {
      if (waitpid(worker.pid, &status, WNOHANG) == worker.pid) {
        worker.pid = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
    }
    ADD_FAILURE() << "a worker hangs";
    return -1;
  }

  void wait_until_ready() {
    for (const auto end = Clock::now() + 40s; Clock::now() < end; std::this_thread::sleep_for(5ms)) {
      bool all = true;
      for (const auto& worker : workers_) all = all && file_text(worker.out).starts_with("ready");
      if (all) return;
    }
    FAIL() << "the workers did not start";
  }

  const TestFolder folder_;
  std::vector<Worker> workers_;
};

TEST_F(GlooGroups, TheSameBitsOnOneToFourProcesses) {
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

TEST_F(GlooGroups, RankZeroHostsTheStoreWhenNoLauncherDoes) {
  const int probe = listen_at("127.0.0.1", 0);
  sockaddr_in address = {};
  socklen_t length = sizeof address;
  ASSERT_EQ(getsockname(probe, reinterpret_cast<sockaddr*>(&address), &length), 0);
  close(probe);
  for (int rank = 1; rank >= 0; --rank) start("collectives", rank, 2, ntohs(address.sin_port), false);
  for (auto& worker : workers_) EXPECT_EQ(wait_for(worker), 0) << file_text(worker.out);
  EXPECT_EQ(file_text(workers_[0].out), file_text(workers_[1].out));
}

// The launcher hosts the store, the workers write to each other: both outlive a peer that dies between two writes.
TEST_F(GlooGroups, AWriteToADeadPeerIsAnErrorAndNoSignal) {
  ASSERT_NE(signal(SIGPIPE, SIG_DFL), SIG_ERR);
  const auto store = host_store("127.0.0.1");
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[1]);
  EXPECT_EQ(write(ends[0], "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
  close(ends[0]);
}

TEST_F(GlooGroups, AKilledProcessEndsTheOthersAtOnce) {
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
      EXPECT_LT(noticed_ms, 5000);
      EXPECT_NE(said.find(fmt::format("[comm] rank {}: ", rank)), std::string::npos) << said;
    }
  }
}

TEST_F(GlooGroups, AStuckProcessEndsTheOthersAtTheTimeout) {
  const auto store = host_store("127.0.0.1");
  for (int rank = 0; rank < 3; ++rank) start("until_stuck", rank, 3, store->port(), true);
  wait_until_ready();
  const int64_t stopped_ms = now_ms();
  kill(workers_[2].pid, SIGSTOP);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(wait_for(workers_[rank]), static_cast<int>(ErrorCode::kPeerLost));
    const auto said = file_text(workers_[rank].out).substr(6);
    const int64_t noticed_ms = std::stoll(said) - stopped_ms;
    EXPECT_LT(noticed_ms, 2 * 6000) << said;
    EXPECT_GT(noticed_ms, 3000) << said;
  }
}

TEST_F(GlooGroups, MissingRanksAreNamed) {
  const auto store = host_store("127.0.0.1");
  start("join", 0, 3, store->port(), true);
  EXPECT_EQ(wait_for(workers_[0]), static_cast<int>(ErrorCode::kPeerLost));
  const auto said = file_text(workers_[0].out);
  EXPECT_NE(said.find("of 3 ranks, 1, 2 did not join within 1.5 s"), std::string::npos) << said;
}

TEST_F(GlooGroups, AnAbsentStoreIsAnErrorWithinTheTimeout) {
  int port = 0;
  { port = host_store("127.0.0.1")->port(); }
  start("join", 1, 2, port, true);
  EXPECT_EQ(wait_for(workers_[0]), static_cast<int>(ErrorCode::kPeerLost));
  const auto said = file_text(workers_[0].out);
  EXPECT_NE(said.find("no answer from the store at 127.0.0.1"), std::string::npos) << said;
}

TEST(StoreHost, ATakenPortIsAnEnvironmentError) {
  const auto store = host_store("127.0.0.1");
  try {
    host_store("127.0.0.1", store->port());
    FAIL() << "the port was taken twice";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_NE(std::string(error.what()).find(std::to_string(store->port())), std::string::npos) << error.what();
  }
}

TEST(Sockets, LocalAddress) {
  EXPECT_TRUE(is_loopback("127.0.0.1"));
  EXPECT_TRUE(is_loopback("localhost"));
  EXPECT_FALSE(is_loopback("10.0.0.1"));
  EXPECT_EQ(local_address_towards("127.0.0.1", 1), "127.0.0.1");
  EXPECT_THROW(local_address_towards("no-such-host.invalid", 1), Error);
  EXPECT_THROW(listen_at("not an address", 0), Error);
}

}  // namespace
}  // namespace linac::comm
