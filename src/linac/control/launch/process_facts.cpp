#include "linac/control/launch/process_facts.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/thread_facts.h"

namespace linac::launch {
namespace {

int64_t number_after(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size());
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
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    pid_t pid = 0;
    const auto [end, status] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (status != std::errc{} || end != name.data() + name.size()) continue;
    std::istringstream variables(proc_text("/proc/" + name + "/environ"));
    for (std::string line; std::getline(variables, line, '\0');) {
      if (line != wanted) continue;
      if (ProcessKey key = process_key(pid); key.pid != 0) found.push_back(std::move(key));
      break;
    }
  }
  return found;
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
