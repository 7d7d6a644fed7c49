#include "linac/control/launch/control_group.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <sstream>
#include <thread>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/thread_facts.h"

namespace linac::launch {
namespace {

constexpr std::chrono::milliseconds kRemovalMax{2000}, kFreezeMax{500}, kLook{10};
constexpr int64_t kPeriod_us = 100'000;  // the kernel's own, in which a quota of time is counted

void set(const std::string& file, const std::string& value) {
  if (!tell_kernel(file, value))
    throw environment_error(fmt::format("[launch] {}: cannot be set to {} ({})", file, value, std::strerror(errno)));
}

// The number behind `name` in a file of lines "name number"; 0 if there is none.
int64_t number_in(const std::string& file, const std::string& name) {
  std::istringstream lines(proc_text(file));
  std::string word;
  for (int64_t number = 0; lines >> word >> number;)
    if (word == name) return number;
  return 0;
}

bool within(std::chrono::milliseconds limit, const auto& done) {
  for (const auto end = std::chrono::steady_clock::now() + limit; !done(); std::this_thread::sleep_for(kLook))
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

}  // namespace

bool tell_kernel(const std::string& file, const std::string& value) {
  const Descriptor open_file(open(file.c_str(), O_WRONLY | O_CLOEXEC));
  return open_file && write(open_file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

std::vector<std::string> ControlGroup::folders() const {
  std::vector<std::string> folders;
  for (const std::string& folder : {place_.unified, place_.freezer, place_.memory, place_.pids, place_.cpu})
    if (!folder.empty() && std::find(folders.begin(), folders.end(), folder) == folders.end())
      folders.push_back(folder);
  return folders;
}

void ControlGroup::make(const Limits& limits) const {
  for (const std::string& folder : folders())
    if (mkdir(folder.c_str(), 0755) != 0 && errno != EEXIST)
      throw environment_error(
          fmt::format("[launch] the control group {} cannot be made ({})", folder, std::strerror(errno)));
  if (!place_.memory.empty() && limits.memory_together_mb > 0) {
    const std::string bytes = std::to_string(limits.memory_together_mb << 20);
    set(place_.memory + (unified(place_.memory) ? "/memory.max" : "/memory.limit_in_bytes"), bytes);
    // Not each kernel counts what is swapped out; version 1 counts it together with the rest.
    if (unified(place_.memory))
      tell_kernel(place_.memory + "/memory.swap.max", "0");
    else
      tell_kernel(place_.memory + "/memory.memsw.limit_in_bytes", bytes);
  }
  if (!place_.pids.empty() && limits.processes > 0) set(place_.pids + "/pids.max", std::to_string(limits.processes));
  if (!place_.cpu.empty() && !limits.cores.empty()) {
    const int64_t quota_us = static_cast<int64_t>(limits.cores.size()) * kPeriod_us;
    if (unified(place_.cpu))
      set(place_.cpu + "/cpu.max", fmt::format("{} {}", quota_us, kPeriod_us));
    else if (!tell_kernel(place_.cpu + "/cpu.cfs_quota_us", std::to_string(quota_us)) && errno != EINVAL)
      set(place_.cpu + "/cpu.cfs_quota_us", std::to_string(quota_us));
    // EINVAL: the group above has less, which holds here as well.
  }
}

bool ControlGroup::enter() const {
  const auto all = folders();
  return std::all_of(all.begin(), all.end(),
                     [](const std::string& folder) { return tell_kernel(folder + "/cgroup.procs", "0"); });
}

std::vector<ProcessKey> ControlGroup::members() const {
  std::vector<ProcessKey> found;
  const auto all = folders();
  if (all.empty()) return found;
  std::istringstream numbers(proc_text(all.front() + "/cgroup.procs"));
  for (pid_t pid = 0; numbers >> pid;)
    if (ProcessKey key = process_key(pid); key.pid != 0) found.push_back(std::move(key));
  return found;
}

std::optional<int64_t> ControlGroup::memory_bytes() const {
  if (place_.memory.empty()) return std::nullopt;
  const std::string file = place_.memory + "/memory.stat";
  if (unified(place_.memory)) return number_in(file, "anon") + number_in(file, "shmem");
  return number_in(file, "total_rss") + number_in(file, "total_shmem");
}

int64_t ControlGroup::killed_for_memory() const {
  if (place_.memory.empty()) return 0;
  return number_in(place_.memory + (unified(place_.memory) ? "/memory.events" : "/memory.oom_control"), "oom_kill");
}

void ControlGroup::kill() const {
  if (!place_.unified.empty() && tell_kernel(place_.unified + "/cgroup.kill", "1")) return;
  // Nothing makes another process meanwhile: what is frozen gets its signal as it thaws.
  const bool frozen = !place_.freezer.empty() && tell_kernel(place_.freezer + "/freezer.state", "FROZEN");
  if (frozen) within(kFreezeMax, [&] { return proc_text(place_.freezer + "/freezer.state") == "FROZEN\n"; });
  if (!frozen && !place_.pids.empty()) tell_kernel(place_.pids + "/pids.max", "0");
  for (const ProcessKey& member : members()) send_signal(member, SIGKILL);
  if (frozen) tell_kernel(place_.freezer + "/freezer.state", "THAWED");
}

void ControlGroup::remove() const {
  for (const std::string& folder : folders()) {
    int error = 0;  // what was killed a moment ago may not be gone yet
    within(kRemovalMax, [&] {
      error = rmdir(folder.c_str()) == 0 ? 0 : errno;
      return error != EBUSY;
    });
    if (error != 0 && error != ENOENT)
      log::warn(fmt::format("[launch] the control group {} cannot be removed ({})", folder, std::strerror(error)));
  }
}

}  // namespace linac::launch
