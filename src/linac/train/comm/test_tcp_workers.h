#pragma once
// For tests: workers as real processes that meet over TCP on the loopback interface. They are this test program again,
// asked by the environment to run the test TcpWorker.Role with one role (tcp_group_test.cpp).

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <ostream>
#include <string>
#include <thread>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/sockets.h"
#include "linac/train/comm/test_slowness.h"

namespace linac::comm::testing {

using Clock = std::chrono::steady_clock;

/// Roles of tcp_channel_test.cpp: what the worker's process exits with, having written to `out` what the test reads.
int channels_role(Group& group, std::ostream& out);
int unanswered_channel_role(Group& group, std::ostream& out);
int many_waits_role(Group& group, std::ostream& out);
int large_sums_role(Group& group, std::ostream& out);

inline int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now().time_since_epoch()).count();
}

struct Worker {
  pid_t pid = 0;
  std::string out;
};

inline std::string file_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline bool has_ipv6() {
  try {
    close(listen_at("::1", 0));
    return true;
  } catch (const Error&) {
    return false;
  }
}

class TcpWorkers : public ::testing::Test {
 protected:
  void TearDown() override {
    for (const auto& worker : workers_) {
      if (worker.pid > 0) kill(worker.pid, SIGKILL), waitpid(worker.pid, nullptr, 0);
    }
  }

  void start(const std::string& role, int rank, int world_size, int port, bool agent_store, bool joins = false) {
    Worker worker{.out = folder_ / std::to_string(workers_.size())};
    std::vector<std::string> environment = {
        "LINAC_TEST_ROLE=" + role,
        "LINAC_TEST_OUT=" + worker.out,
        "LINAC_TEST_FOLDER=" + folder_.path().string(),
        fmt::format("RANK={}", rank),
        fmt::format("WORLD_SIZE={}", world_size),
        fmt::format("LOCAL_RANK={}", rank),
        "MASTER_ADDR=" + master_,
        fmt::format("MASTER_PORT={}", port),
        fmt::format("TORCHELASTIC_USE_AGENT_STORE={}", agent_store ? "True" : "False"),
    };
    environment.insert(environment.end(), further_.begin(), further_.end());
    if (joins) environment.push_back("LINAC_TEST_JOIN=1");
    for (const char* const name : {"LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"}) {
      if (const char* const value = std::getenv(name)) environment.push_back(fmt::format("{}={}", name, value));
    }
    std::vector<char*> envp;
    for (auto& entry : environment) envp.push_back(entry.data());
    envp.push_back(nullptr);
    std::string program = "comm_test", filter = "--gtest_filter=TcpWorker.Role", brief = "--gtest_brief=1";
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
  int wait_for(Worker& worker, std::chrono::seconds limit = kSlowness * std::chrono::seconds(40)) {
    int status = 0;
    for (const auto end = Clock::now() + limit; Clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(2))) {
      if (waitpid(worker.pid, &status, WNOHANG) == worker.pid) {
        worker.pid = 0;
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
      }
    }
    ADD_FAILURE() << "a worker hangs";
    return -1;
  }

  void wait_until_ready() {
    for (const auto end = Clock::now() + kSlowness * std::chrono::seconds(40); Clock::now() < end;
         std::this_thread::sleep_for(std::chrono::milliseconds(5))) {
      bool all = true;
      for (const auto& worker : workers_) all = all && file_text(worker.out).starts_with("ready");
      if (all) return;
    }
    FAIL() << "the workers did not start";
  }

  const TemporaryFolder folder_;
  std::vector<Worker> workers_;
  std::string master_ = "127.0.0.1";
  std::vector<std::string> further_;  // "NAME=value", in the environment of the workers
};

}  // namespace linac::comm::testing
