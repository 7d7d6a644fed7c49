#pragma once
// How many processor cores this process may keep busy. A batch system or a container gives a part of the machine: by
// the set of cores that the process may run on, by the job's set when each task has a share of it, or by a quota of
// time that Linux's control groups enforce (kernel.org: cgroup-v2, "cpu.max"; cgroup-v1, "cpu.cfs_quota_us"). Reads
// files of the kernel only; thread-safe.

#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

namespace linac {

/// Whether the launcher bound each process to a share of the cores of its job.
enum class Binding { kNone, kEach };

struct Cores {
  int allowed = 1;                                         // those that this process may run on
  int together = 1;                                        // those of its job or container on this machine
  double quota = std::numeric_limits<double>::infinity();  // cores' worth of time for the control group
};

/// What the kernel says. `root`: where /proc and /sys lie; `allowed` is always that of this process. What cannot be
/// read limits nothing.
Cores read_cores(const std::filesystem::path& root = "/");

/// The share of each of `processes` that work side by side on this machine; at least 1.
int cores_of_each(const Cores& cores, int processes, Binding binding);

/// Those of a process that works alone; at least 1.
int usable_cores();
/// The same as time: of a quota as much as it gives, be it less than a core's.
double core_time();

/// The numbers of those that this process may run on, ascending; 0 where the kernel does not tell.
std::vector<int> allowed_cores();
/// "0-3,8" -> 0, 1, 2, 3, 8, ascending, each once; nothing where it is no such list.
std::optional<std::vector<int>> cores_in(std::string_view list);

/// Seconds for which the cores that this process may run on have worked since the machine started, whoever let them,
/// all added; in ticks of the kernel. Nothing where it does not tell.
std::optional<double> busy_seconds(const std::filesystem::path& root = "/");

}  // namespace linac
