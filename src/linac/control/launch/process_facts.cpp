#include "linac/control/launch/process_facts.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/thread_facts.h"

namespace linac::launch {
namespace {

int64_t number_after(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size());
}

constexpr int kRoundsMax = 100;  // of stopping those that were made while the others were

std::vector<pid_t> all_processes() {
  std::vector<pid_t> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (status == std::errc{} && end == name.data() + name.size()) found.push_back(pid);
  }
  return found;
}

}  // namespace

bool send_signal(const ProcessKey& key, int signal) {
  if (key.pid <= 0) return false;
  // The descriptor is of whoever has the number now, and stays with it: looked at afterwards, it is ours or not.
  const Descriptor handle(static_cast<int>(syscall(SYS_pidfd_open, key.pid, 0)));
  if (!handle || !alive(key)) return false;
  return syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

std::vector<ProcessKey> processes_with(const std::string& variable, const std::string& value) {
  std::vector<ProcessKey> found;
  const std::string wanted = variable + "=" + value;
  for (const pid_t pid : all_processes()) {
    std::istringstream variables(proc_text("/proc/" + std::to_string(pid) + "/environ"));
    for (std::string line; std::getline(variables, line, '\0');) {
      if (line != wanted) continue;
      if (ProcessKey key = process_key(pid); key.pid != 0) found.push_back(std::move(key));
      break;
    }
  }
  return found;
}

std::vector<ProcessKey> descendants() {
  std::multimap<pid_t, pid_t> children;
  for (const pid_t pid : all_processes())
    if (const auto stat = process_stat(pid)) children.emplace(stat->parent, pid);
  std::vector<ProcessKey> found;
  std::vector<pid_t> parents{getpid()};
  while (!parents.empty()) {
    const auto [begin, end] = children.equal_range(parents.back());
    parents.pop_back();
    for (auto child = begin; child != end; ++child) {
      parents.push_back(child->second);
      if (ProcessKey key = process_key(child->second); key.pid != 0) found.push_back(std::move(key));
    }
  }
  return found;
}

void kill_descendants(const std::vector<ProcessKey>& spared) {
  const auto has = [](const std::vector<ProcessKey>& keys, const ProcessKey& key) {
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  };
  std::vector<ProcessKey> stopped;
  for (int round = 0; round < kRoundsMax; ++round) {
    const size_t before = stopped.size();
    for (const ProcessKey& key : descendants())
      if (!has(spared, key) && !has(stopped, key) && send_signal(key, SIGSTOP)) stopped.push_back(key);
    if (stopped.size() == before) break;
  }
  for (const ProcessKey& key : stopped) send_signal(key, SIGKILL);
}

ProcessUse use_of(const std::vector<ProcessKey>& processes) {
  static const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  ProcessUse use;
  for (const ProcessKey& key : processes) {
    const auto stat = process_stat(key.pid);
    if (!stat || stat->start_ticks != key.start_ticks) continue;
    use.cpu_s += static_cast<double>(stat->cpu_ticks) / ticks_per_s;
    use.memory_bytes += stat->resident_pages * page_bytes;
    const std::string io = proc_text("/proc/" + std::to_string(key.pid) + "/io");
    use.read_bytes += number_after(io, "\nread_bytes: ");
    use.written_bytes += number_after(io, "\nwrite_bytes: ");
  }
  return use;
}

}  // namespace linac::launch
