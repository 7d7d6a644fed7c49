#include "linac/base/base/cores.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>

namespace linac {
namespace {

namespace fs = std::filesystem;

constexpr int kCpusMax = 1 << 16;  // more than any kernel is built for

std::optional<std::string> first_line(const fs::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line) || line.empty()) return std::nullopt;
  return line;
}

std::optional<int> number_in(std::string_view text) {
  int number = 0;
  const auto [stop, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || stop != text.data() + text.size() || number < 0 || number > kCpusMax)
    return std::nullopt;
  return number;
}

// Of a list as the kernel writes it.
std::optional<int> cpus_in(const std::optional<std::string>& list) {
  const auto cores = list ? cores_in(*list) : std::nullopt;
  return cores ? std::optional(static_cast<int>(cores->size())) : std::nullopt;
}

// Calls visit(cpu) for each that this process may run on; false if the kernel does not tell which these are.
template <class Visit>
bool for_allowed(const Visit& visit) {
  for (int cpus = CPU_SETSIZE; cpus <= kCpusMax; cpus *= 2) {
    const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t*)> set(CPU_ALLOC(static_cast<size_t>(cpus)),
                                                               [](cpu_set_t* one) { CPU_FREE(one); });
    const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(cpus));
    // Of the main thread: others may have been bound by a library.
    if (set != nullptr && sched_getaffinity(getpid(), bytes, set.get()) == 0) {
      for (int cpu = 0; cpu < cpus; ++cpu)
        if (CPU_ISSET_S(static_cast<size_t>(cpu), bytes, set.get())) visit(cpu);
      return true;
    }
    if (errno != EINVAL) break;  // EINVAL: the kernel knows more CPUs than the set has room for
  }
  return false;
}

int allowed_here() {
  int count = 0;
  if (!for_allowed([&](int) { ++count; })) count = static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, count);
}

// "max 100000" or "150000 100000".
double quota_v2(const fs::path& group) {
  const auto line = first_line(group / "cpu.max");
  double quota = 0, period = 0;
  if (line && std::istringstream(*line) >> quota >> period && quota > 0 && period > 0) return quota / period;
  return std::numeric_limits<double>::infinity();
}

double quota_v1(const fs::path& group) {
  const auto quota = first_line(group / "cpu.cfs_quota_us"), period = first_line(group / "cpu.cfs_period_us");
  double amount = 0, each = 0;  // an amount of -1: none
  if (quota && period && std::istringstream(*quota) >> amount && std::istringstream(*period) >> each && amount > 0 &&
      each > 0)
    return amount / each;
  return std::numeric_limits<double>::infinity();
}

std::optional<int> cpuset_of(const fs::path& group) {
  for (const char* const name : {"cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus"}) {
    if (const auto count = cpus_in(first_line(group / name))) return count;
  }
  return std::nullopt;
}

// Calls visit(folder) for the group at `path` and those above it, up to the hierarchy's root. A container often shows
// the path that its group has on the host, while only the root is there: what is missing is passed over.
template <class Visit>
void for_group_and_above(const fs::path& hierarchy, fs::path path, const Visit& visit) {
  for (path = path.relative_path(); !path.empty(); path = path.parent_path()) visit(hierarchy / path);
  visit(hierarchy);
}

// The set of the own group, or of the batch job above it: Slurm makes groups job_N/step_M/.../task_K.
std::optional<int> cpus_together(const fs::path& hierarchy, const fs::path& path) {
  std::optional<int> own, job;
  for_group_and_above(hierarchy, path, [&](const fs::path& group) {
    const auto here = cpuset_of(group);
    if (!own) own = here;
    if (here && group.filename().string().starts_with("job_")) job = here;
  });
  return job ? job : own;
}

bool names(std::string_view controllers, std::string_view wanted) {
  for (size_t begin = 0; begin <= controllers.size();) {
    const size_t end = std::min(controllers.find(',', begin), controllers.size());
    if (controllers.substr(begin, end - begin) == wanted) return true;
    begin = end + 1;
  }
  return false;
}

}  // namespace

Cores read_cores(const fs::path& root) {
  Cores cores{.allowed = allowed_here()};
  std::optional<int> together;
  const fs::path groups = root / "sys/fs/cgroup";
  std::ifstream stream(root / "proc/self/cgroup");  // lines "number:controllers:path", version 2 as "0::path"
  for (std::string line; std::getline(stream, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    const auto limit = [&](double quota) { cores.quota = std::min(cores.quota, quota); };
    if (controllers.empty()) {
      for_group_and_above(groups, path, [&](const fs::path& group) { limit(quota_v2(group)); });
      if (const auto count = cpus_together(groups, path); count && !together) together = count;
    } else {
      if (names(controllers, "cpu")) {
        for (const std::string& mount : {controllers, std::string("cpu")})
          for_group_and_above(groups / mount, path, [&](const fs::path& group) { limit(quota_v1(group)); });
      }
      if (names(controllers, "cpuset")) {
        if (const auto count = cpus_together(groups / "cpuset", path)) together = count;
      }
    }
  }
  if (!together) together = cpus_in(first_line(root / "sys/devices/system/cpu/online"));
  cores.together = std::max(cores.allowed, together.value_or(0));
  return cores;
}

int cores_of_each(const Cores& cores, int processes, Binding binding) {
  processes = std::max(1, processes);
  const int shared = (binding == Binding::kEach ? cores.together : cores.allowed) / processes;
  int share = std::min(cores.allowed, shared);
  const double by_time = std::floor(cores.quota / processes);
  if (by_time < share) share = static_cast<int>(by_time);
  return std::max(1, share);
}

int usable_cores() {
  return cores_of_each(read_cores(), 1, Binding::kNone);
}

double core_time() {
  const Cores cores = read_cores();
  return std::min<double>(cores.allowed, cores.quota);
}

std::vector<int> allowed_cores() {
  std::vector<int> cores;
  for_allowed([&](int cpu) { cores.push_back(cpu); });
  if (cores.empty()) cores.push_back(0);
  return cores;
}

std::optional<std::vector<int>> cores_in(std::string_view list) {
  std::set<int> cores;
  for (size_t from = 0; from <= list.size();) {
    const size_t comma = std::min(list.find(',', from), list.size());
    const std::string_view part = list.substr(from, comma - from);
    from = comma + 1;
    const size_t dash = part.find('-');
    const auto first = number_in(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number_in(part.substr(dash + 1));
    if (!first || !last || *last < *first) return std::nullopt;
    for (int core = *first; core <= *last; ++core) cores.insert(core);
  }
  return std::vector<int>(cores.begin(), cores.end());
}

std::optional<double> busy_seconds(const fs::path& root) {
  std::set<std::string> allowed;
  if (!for_allowed([&](int cpu) { allowed.insert(fmt::format("cpu{}", cpu)); })) return std::nullopt;
  // A line a CPU: user, nice, system, idle, waiting for a device, interrupts (two), taken by the hypervisor (proc(5)).
  double ticks = 0;
  bool any = false;
  std::ifstream stream(root / "proc/stat");
  for (std::string line; std::getline(stream, line);) {
    std::istringstream words(line);
    std::string cpu;
    double user = 0, nice = 0, system = 0, idle = 0, waits = 0, hard = 0, soft = 0, stolen = 0;
    if (!(words >> cpu) || !allowed.contains(cpu)) continue;
    if (!(words >> user >> nice >> system >> idle >> waits >> hard >> soft >> stolen)) continue;
    ticks += user + nice + system + hard + soft + stolen;
    any = true;
  }
  return any ? std::optional(ticks / static_cast<double>(sysconf(_SC_CLK_TCK))) : std::nullopt;
}

}  // namespace linac
