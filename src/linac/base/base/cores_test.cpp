#include "linac/base/base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <string>

#include "linac/base/base/temporary_folder.h"

namespace linac {
namespace {

using Files = std::map<std::string, std::string>;

Cores read(const Files& files) {
  const TemporaryFolder root;
  for (const auto& [name, text] : files) {
    const std::filesystem::path path = root / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }
  return read_cores(root.path());
}

constexpr double kNone = std::numeric_limits<double>::infinity();
const std::string kV2 = "sys/fs/cgroup/", kOwn = "proc/self/cgroup";

TEST(Cores, NothingToReadLimitsNothing) {
  const Cores cores = read({});
  EXPECT_GE(cores.allowed, 1);
  EXPECT_EQ(cores.together, cores.allowed);
  EXPECT_EQ(cores.quota, kNone);
  EXPECT_EQ(cores_of_each(cores, 1, Binding::kNone), cores.allowed);
}

TEST(Cores, AQuotaOfAnyGroupUpToTheRootCounts) {
  EXPECT_EQ(read({{kOwn, "0::/a/b"}, {kV2 + "a/b/cpu.max", "max 100000"}, {kV2 + "a/cpu.max", "250000 100000"}}).quota,
            2.5);
  EXPECT_EQ(
      read({{kOwn, "0::/a/b"}, {kV2 + "a/b/cpu.max", "50000 100000"}, {kV2 + "a/cpu.max", "250000 100000"}}).quota,
      0.5);
  EXPECT_EQ(read({{kOwn, "0::/"}, {kV2 + "cpu.max", "400000 100000"}}).quota, 4);
  // In a container the path may be the host's, and only the root is there.
  EXPECT_EQ(read({{kOwn, "0::/kubepods/pod7/c1"}, {kV2 + "cpu.max", "400000 100000"}}).quota, 4);
}

TEST(Cores, VersionOneHasControllersOfTheirOwn) {
  const std::string own = "5:cpuset:/job\n4:cpu,cpuacct:/job\n3:memory:/job\n0::/init";
  const Cores cores = read({{kOwn, own},
                            {kV2 + "cpu,cpuacct/job/cpu.cfs_quota_us", "300000"},
                            {kV2 + "cpu,cpuacct/job/cpu.cfs_period_us", "100000"},
                            {kV2 + "cpuset/job/cpuset.cpus", "0-4095"}});
  EXPECT_EQ(cores.quota, 3);
  EXPECT_EQ(cores.together, 4096);
  EXPECT_EQ(read({{kOwn, own}, {kV2 + "cpu/job/cpu.cfs_quota_us", "-1"}, {kV2 + "cpu/job/cpu.cfs_period_us", "100000"}})
                .quota,
            kNone);
}

TEST(Cores, TogetherIsTheSetOfTheBatchJob) {
  const std::string job = kV2 + "slurm/job_7/";
  const Cores cores = read({{kOwn, "0::/slurm/job_7/step_0/user/task_1"},
                            {kV2 + "cpuset.cpus.effective", "0-9999"},
                            {job + "cpuset.cpus.effective", "0-2047,4096-6143"},
                            {job + "step_0/user/task_1/cpuset.cpus.effective", "0-1"}});
  EXPECT_EQ(cores.together, 4096);
  // No batch job: the own group, not the whole machine.
  EXPECT_EQ(
      read({{kOwn, "0::/c"}, {kV2 + "cpuset.cpus.effective", "0-9999"}, {kV2 + "c/cpuset.cpus.effective", "0-4095"}})
          .together,
      4096);
}

TEST(Cores, WhatCannotBeReadIsPassedOver) {
  for (const char* const text :
       {"", "x", "-1", "0-", "3-1", "0-99999999999", "0,,1", "0-3,x", "nan nan", "0 0", "-5 3"}) {
    const Cores cores = read({{kOwn, "0::/"}, {kV2 + "cpu.max", text}, {kV2 + "cpuset.cpus.effective", text}});
    EXPECT_EQ(cores.quota, kNone) << text;
    EXPECT_EQ(cores.together, cores.allowed) << text;
  }
  EXPECT_EQ(read({{kOwn, "no colons\n:\n::\n0::../../.."}}).quota, kNone);
}

TEST(Cores, SharesAreNeverBelowOne) {
  const Cores host{.allowed = 64, .together = 64, .quota = kNone};
  EXPECT_EQ(cores_of_each(host, 1, Binding::kNone), 64);
  EXPECT_EQ(cores_of_each(host, 4, Binding::kNone), 16);
  EXPECT_EQ(cores_of_each(host, 4, Binding::kEach), 16) << "the launcher could bind, and did not";
  EXPECT_EQ(cores_of_each(host, 100, Binding::kNone), 1);
  EXPECT_EQ(cores_of_each(host, 0, Binding::kNone), 64);
  const Cores bound{.allowed = 16, .together = 64, .quota = kNone};
  EXPECT_EQ(cores_of_each(bound, 4, Binding::kEach), 16);
  EXPECT_EQ(cores_of_each(bound, 2, Binding::kEach), 16) << "it cannot leave its own cores";
  EXPECT_EQ(cores_of_each(bound, 4, Binding::kNone), 4);
  const Cores limited{.allowed = 64, .together = 64, .quota = 7.5};
  EXPECT_EQ(cores_of_each(limited, 1, Binding::kNone), 7);
  EXPECT_EQ(cores_of_each(limited, 2, Binding::kNone), 3);
  EXPECT_EQ(cores_of_each({.allowed = 64, .together = 64, .quota = 0.2}, 1, Binding::kNone), 1);
}

TEST(Cores, ABoundProcessHasFewer) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int first = 0;
  while (!CPU_ISSET(first, &before)) ++first;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(first, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  EXPECT_EQ(read({}).allowed, 1);
  EXPECT_EQ(usable_cores(), 1);
  EXPECT_EQ(allowed_cores(), std::vector<int>{first});
  EXPECT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Cores, AListIsRead) {
  EXPECT_EQ(cores_in("0-3,8"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(cores_in("5,2-3,3"), (std::vector<int>{2, 3, 5}));
  for (const char* none : {"", "a", "1,", ",1", "3-2", "1-", "-1", "1 2", "99999999"})
    EXPECT_FALSE(cores_in(none)) << none;
}

TEST(Cores, BusySecondsAreThoseOfTheCoresThatItMayRunOn) {
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  int cpu = 0;
  while (CPU_ISSET(cpu, &before) == 0) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(getpid(), sizeof one, &one), 0);
  const TemporaryFolder root;
  EXPECT_FALSE(busy_seconds(root.path()));
  std::filesystem::create_directories(root / "proc");
  std::ofstream(root / "proc/stat") << "cpu  9 9 9 9 9 9 9 9 0 0\n"
                                    << "cpu" << cpu << " 1 2 3 5000 6000 4 5 6 7 8\n"
                                    << "cpu" << cpu + 1 << " 900 900 900 900 900 900 900 900 0 0\ncpu\nintr 1\n";
  EXPECT_DOUBLE_EQ(busy_seconds(root.path()).value(),
                   (1 + 2 + 3 + 4 + 5 + 6) / static_cast<double>(sysconf(_SC_CLK_TCK)));
  EXPECT_GT(busy_seconds().value(), 0);
  ASSERT_EQ(sched_setaffinity(getpid(), sizeof before, &before), 0);
}

}  // namespace
}  // namespace linac
