// Real worker processes: this program again, asked by the environment to play one of the roles below.

#include "linac/train/workers/local_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "linac/base/base/signals.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/test_loopback_store.h"
#include "linac/train/workers/worker_error.h"

namespace linac::launch {
namespace {

using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ms;
using Clock = std::chrono::steady_clock;
using comm::testing::loopback_stores;

constexpr const char* kRoleVariable = "LINAC_TEST_LAUNCH_ROLE";
constexpr const char* kFolderVariable = "LINAC_TEST_LAUNCH_FOLDER";

volatile sig_atomic_t stop_requests = 0;

LocalLaunch launch_of(const std::string& role, int workers) {
  LocalLaunch launch;
  launch.workers = workers;
  launch.argv = {"worker", "--gtest_filter=LaunchWorker.Role", "--gtest_brief=1"};
  launch.environment = {{kRoleVariable, role}};
  return launch;
}

void sleep_out() {
  for (const auto end = Clock::now() + 60s; Clock::now() < end;) std::this_thread::sleep_for(5ms);
}

// Barriers until a peer is lost, as training does.
void train(comm::Group& group) {
  for (const auto end = Clock::now() + 60s; Clock::now() < end;) group.barrier();
}

void print_lines(int rank) {
  for (int i = 0; i < 300; ++i) {
    const auto line = fmt::format("line {} of rank {} {} end\n", i, rank, std::string(150, '.'));
    std::fputs(line.c_str(), i % 2 == 0 ? stdout : stderr);
    std::fflush(stdout);
  }
}

void wait_for(const std::filesystem::path& file) {
  for (const auto end = Clock::now() + 30s; !std::filesystem::exists(file) && Clock::now() < end;)
    std::this_thread::sleep_for(5ms);
}

// Rank 1 is lost, and so is the first one in its place. The second one says which worker of the machine it is.
int play_replaced(const comm::Rendezvous& meet) {
  const std::filesystem::path folder = std::getenv(kFolderVariable);
  if (std::getenv("RANK") != nullptr) {
    const auto group =
        comm::make_group(meet, {.join_timeout = 20s, .stall_timeout = 20s, .folder = folder}, loopback_stores());
    group->barrier();
    if (meet.rank == 1) {  // not while another is still in the barrier: it would lose its peer there
      wait_for(folder / "0 is through");
      wait_for(folder / "2 is through");
      raise(SIGKILL);
    }
    std::ofstream(folder / fmt::format("{} is through", meet.rank));
  } else if (mkdir((folder / "first").c_str(), 0700) == 0) {
    raise(SIGKILL);
  } else {
    std::ofstream(folder / "newcomer") << std::getenv("LOCAL_RANK") << ' ' << std::getenv("LINAC_WORKER");
    std::filesystem::rename(folder / "newcomer", folder / "done");
  }
  wait_for(folder / "done");
  return 0;
}

int play(const std::string& role, const comm::Rendezvous& meet) {
  if (role == "replaced") return play_replaced(meet);
  if (role == "print") {
    if (meet.rank > 0) print_lines(meet.rank);
    return 0;
  }
  if (role == "launcher") return launch_local_workers(launch_of("orphan", 2), loopback_stores());
  const auto on_stop = [](int) { stop_requests = stop_requests + 1; };
  signal(SIGTERM, role == "stubborn" || role == "lingers" || role == "interrupted twice" ? SIG_IGN : on_stop);
  release_stop_signals();
  const auto group = comm::make_group(meet, {.join_timeout = 20s, .stall_timeout = 20s}, loopback_stores());
  group->barrier();
  if (role == "meet") return std::getenv("LOCAL_WORLD_SIZE") == std::to_string(group->size()) ? 0 : 1;
  if (role == "all 75") return 75;
  if (role == "data error" && meet.rank == 1) throw data_error("[hdf5] a.h5: damaged");
  if (role == "killed" && meet.rank == 2) raise(SIGKILL);
  if (role == "aborts" && meet.rank == 1) {
    std::fputs("last words\n", stderr);
    raise(SIGABRT);
  }
  if (role == "lingers") {
    if (meet.rank == 0) return 0;
    sleep_out();
  }
  if (role == "stubborn") {
    if (meet.rank == 1) throw user_error("[job] no such key");
    sleep_out();
  }
  if (role == "orphan") {
    if (meet.rank == 0) {
      std::puts("together");  // the barrier is passed, so all have their handlers
      std::fflush(stdout);
    }
    while (stop_requests == 0) std::this_thread::sleep_for(5ms);
    return 42;
  }
  if (role == "stopped" || role == "interrupted") {
    if (meet.rank == 0) kill(getppid(), role == "stopped" ? SIGTERM : SIGINT);
    while (stop_requests == 0) std::this_thread::sleep_for(5ms);
    std::this_thread::sleep_for(200ms);
    return stop_requests == 1 ? 75 : 90;
  }
  if (role == "interrupted twice") {
    if (meet.rank == 0) {
      kill(getppid(), SIGINT);
      std::this_thread::sleep_for(700ms);
      kill(getppid(), SIGINT);
    }
    sleep_out();
  }
  train(*group);
  return 91;
}

// Runs in the workers only.
TEST(LaunchWorker, Role) {
  const char* const role = std::getenv(kRoleVariable);
  if (role == nullptr) GTEST_SKIP() << "runs in the worker processes";
  int code = 0;
  try {
    code = play(role, comm::rendezvous_from_environment());
  } catch (const Error& error) {
    report_worker_error(error);
    code = static_cast<int>(error.code());
  }
  _exit(code);
}

struct Outcome {
  int code;
  std::string said;  // standard error of the launcher and of its workers
  double seconds;
};

Outcome run(const LocalLaunch& launch) {
  testing::internal::CaptureStderr();
  const auto start = Clock::now();
  const int code = launch_local_workers(launch, loopback_stores());
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  return {code, testing::internal::GetCapturedStderr(), seconds};
}

// What the launcher itself printed at the end.
std::string verdict_of(const Outcome& outcome) {
  const size_t start = outcome.said.rfind("linac: rank");
  return start == std::string::npos ? "" : outcome.said.substr(start);
}

TEST(LocalLaunch, WorkersMeet) {
  const auto outcome = run(launch_of("meet", 3));
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_EQ(verdict_of(outcome), "");
}

TEST(LocalLaunch, LinesArriveWholeAndInOrder) {
  const auto outcome = run(launch_of("print", 4));
  EXPECT_EQ(outcome.code, 0);
  std::istringstream lines(outcome.said);
  int next[4] = {};
  for (std::string line; std::getline(lines, line);) {
    int rank = 0, number = 0, named_rank = 0;
    if (line.find("line") == std::string::npos) continue;  // the test framework's own
    ASSERT_EQ(std::sscanf(line.c_str(), "[rank %d] line %d of rank %d ", &rank, &number, &named_rank), 3) << line;
    ASSERT_EQ(rank, named_rank);
    ASSERT_TRUE(rank >= 1 && rank <= 3) << line;
    EXPECT_EQ(number, next[rank]++);
    EXPECT_TRUE(line.ends_with(". end")) << line;
  }
  for (int rank = 1; rank < 4; ++rank) EXPECT_EQ(next[rank], 300);
}

TEST(LocalLaunch, TheRootCauseIsNamedFirst) {
  const auto outcome = run(launch_of("data error", 3));
  EXPECT_EQ(outcome.code, 3) << outcome.said;
  EXPECT_TRUE(
      verdict_of(outcome).starts_with("linac: rank 1 ended with exit code 3 (data error)\n"
                                      "  [hdf5] a.h5: damaged\n"
                                      "  then rank 0 ended with exit code 6 (worker lost)"))
      << outcome.said;
  EXPECT_LT(outcome.seconds, 8);  // the peers noticed by themselves
}

TEST(LocalLaunch, AKilledWorkerIsNamedWithItsSignal) {
  const auto outcome = run(launch_of("killed", 3));
  EXPECT_EQ(outcome.code, 128 + SIGKILL) << outcome.said;
  EXPECT_TRUE(verdict_of(outcome).starts_with("linac: rank 2 was killed by signal 9")) << outcome.said;
}

// The GPU goes by LOCAL_RANK: another one is in use by a worker that lives, or does not exist.
TEST(LocalLaunch, ANewWorkerTakesThePlaceOfTheLostOne) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "views");
  auto launch = launch_of("replaced", 3);
  launch.environment.emplace_back(kFolderVariable, folder.path().string());
  launch.views = folder / "views";
  launch.restarts = 2;
  launch.join_argv = launch.argv;
  const auto outcome = run(launch);
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  std::ifstream file(folder / "done");
  int local_rank = -1, number = -1;
  file >> local_rank >> number;
  EXPECT_EQ(local_rank, 1) << outcome.said;
  EXPECT_EQ(number, 4) << "the fifth that was started";
}

TEST(LocalLaunch, ACrashShowsTheLastOutput) {
  const auto outcome = run(launch_of("aborts", 2));
  EXPECT_EQ(outcome.code, 128 + SIGABRT) << outcome.said;
  EXPECT_TRUE(verdict_of(outcome).starts_with("linac: rank 1 was killed by signal 6")) << outcome.said;
  EXPECT_NE(verdict_of(outcome).find("\n  last words"), std::string::npos) << outcome.said;
}

TEST(LocalLaunch, WorkersThatDoNotEndAreEnded) {
  auto launch = launch_of("stubborn", 3);
  launch.failure_grace = 200ms;
  launch.end_grace = 200ms;
  const auto outcome = run(launch);
  EXPECT_EQ(outcome.code, 2) << outcome.said;
  EXPECT_TRUE(
      verdict_of(outcome).starts_with("linac: rank 1 ended with exit code 2 (user error)\n  [job] no such key\n"
                                      "  then rank 0 was ended by the launcher"))
      << outcome.said;
  EXPECT_LT(outcome.seconds, 15);
}

TEST(LocalLaunch, ACompleteRunEndsAlsoIfAWorkerDoesNot) {
  auto launch = launch_of("lingers", 2);
  launch.complete_grace = 200ms;
  launch.end_grace = 200ms;
  const auto outcome = run(launch);
  EXPECT_EQ(outcome.code, 0) << outcome.said;
  EXPECT_NE(outcome.said.find("linac: the run is complete; rank 1 did not end by itself"), std::string::npos)
      << outcome.said;
  EXPECT_LT(outcome.seconds, 15);
}

TEST(LocalLaunch, AStopReachesEachWorkerOnce) {
  for (const char* const role : {"stopped", "interrupted"}) {
    const auto outcome = run(launch_of(role, 3));
    EXPECT_EQ(outcome.code, 75) << outcome.said;
  }
}

TEST(LocalLaunch, ASecondInterruptKills) {
  const auto outcome = run(launch_of("interrupted twice", 2));
  EXPECT_EQ(outcome.code, 137) << outcome.said;
  EXPECT_LT(outcome.seconds, 15);
}

TEST(LocalLaunch, AllPreemptedIsPreempted) {
  EXPECT_EQ(run(launch_of("all 75", 2)).code, 75);
}

TEST(LocalLaunch, AProgramThatCannotStart) {
  auto launch = launch_of("meet", 2);
  launch.program = "/no/such/program";
  const auto outcome = run(launch);
  EXPECT_EQ(outcome.code, 127);
  EXPECT_NE(outcome.said.find("cannot execute /no/such/program"), std::string::npos) << outcome.said;
  launch.workers = 0;
  EXPECT_THROW(launch_local_workers(launch, loopback_stores()), Error);
}

TEST(LocalLaunch, SignalsAreAsBeforeAfterwards) {
  run(launch_of("all 75", 1));
  sigset_t mask;
  ASSERT_EQ(pthread_sigmask(SIG_BLOCK, nullptr, &mask), 0);
  EXPECT_FALSE(sigismember(&mask, SIGTERM));
  EXPECT_FALSE(sigismember(&mask, SIGCHLD));
}

// Libraries start threads that block no signal: the kernel may hand them the news of a worker's end.
TEST(LocalLaunch, OtherThreadsSwallowNothing) {
  std::atomic<bool> over = false;
  std::vector<std::thread> others;
  for (int i = 0; i < 4; ++i)
    others.emplace_back([&] {
      while (!over) std::this_thread::sleep_for(1ms);
    });
  for (int i = 0; i < 5; ++i) EXPECT_EQ(run(launch_of("all 75", 2)).code, 75);
  EXPECT_EQ(run(launch_of("interrupted twice", 2)).code, 137);
  over = true;
  for (std::thread& other : others) other.join();
}

// The launcher dies without a chance to act; the kernel tells the workers.
TEST(LocalLaunch, WorkersDoNotOutliveTheLauncher) {
  prctl(PR_SET_CHILD_SUBREAPER, 1);  // orphans become ours, so that their end can be seen
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const pid_t launcher = fork();
  ASSERT_GE(launcher, 0);
  if (launcher == 0) {
    dup2(ends[1], STDOUT_FILENO);
    setenv(kRoleVariable, "launcher", 1);
    execl("/proc/self/exe", "launcher", "--gtest_filter=LaunchWorker.Role", "--gtest_brief=1", nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string printed;
  char byte;
  while (printed.find("together") == std::string::npos && read(ends[0], &byte, 1) == 1) printed += byte;
  close(ends[0]);
  ASSERT_NE(printed.find("together"), std::string::npos) << printed;
  kill(launcher, SIGKILL);
  ASSERT_EQ(waitpid(launcher, nullptr, 0), launcher);
  int ended = 0;
  for (const auto end = Clock::now() + 20s; ended < 2 && Clock::now() < end; std::this_thread::sleep_for(10ms)) {
    int status = 0;
    while (waitpid(-1, &status, WNOHANG) > 0) {
      EXPECT_EQ(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 42);
      ++ended;
    }
  }
  EXPECT_EQ(ended, 2);
  prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(WorkerError, SilentWithoutALauncher) {
  unsetenv(kErrorFdVariable);
  report_worker_error("nobody hears", 1);
  setenv(kErrorFdVariable, "2", 1);  // not ours to write to
  testing::internal::CaptureStderr();
  report_worker_error("nobody hears", 1);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  unsetenv(kErrorFdVariable);
}

}  // namespace
}  // namespace linac::launch
