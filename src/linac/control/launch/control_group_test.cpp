// Attempts in control groups of this host's kernel, and what is asked of version 2 on one that is made up. Every wait
// is bounded.

#include "linac/control/launch/control_group.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "linac/control/launch/control_groups.h"
#include "linac/control/launch/test_launch.h"

namespace linac::launch {
namespace {

namespace fs = std::filesystem;

class Groups : public Launch {
 protected:
  void SetUp() override {
    const GroupPlace here = place();
    if (here.memory.empty() || here.pids.empty() || here.cpu.empty())
      GTEST_SKIP() << "no control groups here: " << ControlGroups::of_host().said();
  }
  GroupPlace place() const { return ControlGroups::of_host().place(key().label, attempt()); }
  /// In a session of its own, without its mark; it says its number in the file.
  std::string hidden(const std::string& then) const {
    return "setsid env -i /bin/sh -c 'echo $$ > " + (folder_ / "hidden").string() + "; " + then + "' & ";
  }
  pid_t hidden_pid() const {
    pid_t pid = 0;
    EXPECT_TRUE(within(10s, [&] { return bool(std::ifstream(folder_ / "hidden") >> pid); }));
    return pid;
  }
  void expect_gone() const {
    for (const std::string& folder : {place().unified, place().memory, place().pids, place().cpu})
      EXPECT_FALSE(!folder.empty() && fs::exists(folder)) << folder;
  }
};

TEST_F(Groups, CountWhatHidesAndEndItAlsoWithoutASupervisor) {
  start(shell("trap '' TERM; " + hidden("trap \"\" TERM; while :; do sleep 0.1; done") + "wait; sleep 60"));
  const pid_t hides = hidden_pid();
  const auto members = ControlGroup(place()).members();
  EXPECT_TRUE(std::any_of(members.begin(), members.end(), [&](const ProcessKey& one) { return one.pid == hides; }));
  kill(supervisor_pid(), SIGKILL);
  LocalLauncher next({LINAC_TEST_SUPERVISOR}, Slots({0, 1}, 4096, {}), ControlGroups::of_host());
  next.prepare(key(), {});
  ASSERT_TRUE(within(10s, [&] {
    next.cancel(key());
    return next.status(key()).state == AttemptState::kLost;
  }));
  EXPECT_EQ(process_key(hides).pid, 0);
  expect_gone();
}

TEST_F(Groups, OfVersionOneEndWhatHidesToo) {
  // The freezer's way, whatever else this host has.
  const std::string name = fs::path(place().memory).filename();
  const fs::path freezer = "/sys/fs/cgroup/freezer";
  if (!fs::exists(freezer / "cgroup.procs")) GTEST_SKIP() << "no control groups here: no freezer of version 1";
  const GroupPlace old{.freezer = freezer / name};
  const ControlGroup group(old);
  group.make({});
  const pid_t child = fork();
  if (child == 0) {
    if (!group.enter()) _exit(1);
    execl("/bin/sh", "sh", "-c", hidden("while :; do sleep 0.1; done").append("wait").c_str(), nullptr);
    _exit(1);
  }
  const pid_t hides = hidden_pid();
  ASSERT_TRUE(within(10s, [&] {
    group.kill();
    waitpid(child, nullptr, WNOHANG);
    return group.members().empty();
  }));
  EXPECT_EQ(process_key(hides).pid, 0);
  group.remove();
  EXPECT_FALSE(fs::exists(old.freezer));
}

TEST_F(Groups, BoundTheMemoryOfAllTogetherAndSayWhy) {
  if (access("/usr/bin/python3", X_OK) != 0) GTEST_SKIP() << "no /usr/bin/python3";
  const std::string file = "/dev/shm/linac-group-test-" + std::to_string(getpid());
  Command command =
      shell("/usr/bin/python3 -c 'import time; kept = b\"x\" * (40 << 20); time.sleep(30)' & head -c 80M /dev/zero > " +
            file + "; status=$?; rm -f " + file + "; kill $!; exit $status");
  start(command, {.cores = 1, .memory_mb = 100});  // of which no process has as much
  ASSERT_TRUE(ended_within(20s));
  fs::remove(file);  // whoever was to do it may have been killed himself
  EXPECT_EQ(launcher_.status(key()).exit->out_of_memory_mb, 100);
  expect_gone();
}

TEST_F(Groups, BoundTheNumberOfProcessesAndTheirTime) {
  constexpr int64_t kProcesses = 40;
  LocalLauncher small({LINAC_TEST_SUPERVISOR}, Slots({0, 1}, 4096, {}, kProcesses), ControlGroups::of_host());
  small.prepare(key(), {.cores = 1, .memory_mb = 300});
  small.start(key(), shell("i=0; while [ $i -lt 60 ]; do sleep 5 & i=$((i+1)); done; echo all"));
  ASSERT_TRUE(within(20s, [&] { return log().find("fork") != std::string::npos; }));
  const size_t members = ControlGroup(place()).members().size();
  EXPECT_GT(members, 0u);
  EXPECT_LE(members, static_cast<size_t>(kProcesses));
  std::ifstream quota(place().cpu + (place().cpu == place().unified ? "/cpu.max" : "/cpu.cfs_quota_us"));
  int64_t quota_us = 0;
  EXPECT_TRUE(quota >> quota_us);
  EXPECT_EQ(quota_us, 100'000);
  EXPECT_GT(small.use(key()).memory_bytes, 1 << 20);
  small.cancel(key());
  ASSERT_TRUE(within(20s, [&] { return small.status(key()).state == AttemptState::kEnded; }));
  EXPECT_EQ(log().find("all"), std::string::npos);
  expect_gone();
}

/// A file system of the kernel's in which nothing happens by itself.
class MadeUp : public testing::Test {
 protected:
  void write(const fs::path& path, const std::string& text) const {
    fs::create_directories((folder_ / path).parent_path());
    std::ofstream(folder_ / path) << text;
  }
  std::string read(const fs::path& path) const { return read_file(folder_ / path); }
  TemporaryFolder folder_;
};

TEST_F(MadeUp, VersionTwoIsToldTheLimits) {
  const fs::path group = folder_ / "group";
  for (const char* name : {"memory.max", "memory.swap.max", "pids.max", "cpu.max"})
    write(fs::path("group") / name, "max");
  ControlGroup({group, "", group, group, group})
      .make({.memory_mb = 300, .cores = {3, 5}, .gpus = {}, .memory_together_mb = 300, .processes = 1024});
  EXPECT_EQ(read("group/memory.max"), "314572800");
  EXPECT_EQ(read("group/memory.swap.max").front(), '0');
  EXPECT_EQ(read("group/pids.max"), "1024");
  EXPECT_EQ(read("group/cpu.max"), "200000 100000");
  write("group/memory.stat", "anon 1000\nfile 5000\nshmem 24\n");
  write("group/memory.events", "low 0\noom 3\noom_kill 2\n");
  EXPECT_EQ(ControlGroup({group, "", group, group, group}).memory_bytes(), 1024);
  EXPECT_EQ(ControlGroup({group, "", group, group, group}).killed_for_memory(), 2);
}

TEST_F(MadeUp, ALimitThatCannotBeSetIsAnError) {
  const fs::path group = folder_ / "group";
  fs::create_directory(group);
  EXPECT_THROW(ControlGroup({group, "", group, "", ""}).make({.memory_together_mb = 300}), Error);
  EXPECT_THROW(ControlGroup({folder_ / "nowhere" / "group", "", "", "", ""}).make({}), Error);
}

TEST_F(MadeUp, WithoutAnyNothingIsThere) {
  const ControlGroups none = ControlGroups::of_host(folder_.path());
  EXPECT_EQ(none.place("a", "/b"), GroupPlace());
  EXPECT_NE(none.said().find("memory, number of processes, time on cores"), std::string::npos) << none.said();
  const ControlGroup group{GroupPlace()};
  group.make({.memory_together_mb = 300});
  EXPECT_TRUE(group.enter());
  EXPECT_TRUE(group.members().empty());
  EXPECT_FALSE(group.memory_bytes());
  group.kill();
  group.remove();
}

}  // namespace
}  // namespace linac::launch
