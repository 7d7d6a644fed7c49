#include "linac/launch/process_facts.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "linac/base/descriptor.h"
#include "linac/base/thread_facts.h"

namespace linac::launch {
namespace {

const std::string& boot() {
  static const std::string id = [] {
    std::string text = proc_text("/proc/sys/kernel/random/boot_id");
    while (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
  }();
  return id;
}

// Fields of /proc/PID/stat from the third on (proc(5)); the second, the name, may hold blanks and parentheses.
struct Stat {
  char state = 0;
  uint64_t start_ticks = 0, cpu_ticks = 0;
  int64_t resident_pages = 0;
};

std::optional<Stat> stat_of(pid_t pid) {
  const std::string text = proc_text("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  Stat stat;
  fields >> stat.state;
  std::string field;
  uint64_t value = 0;
  for (int number = 4; number <= 24 && fields >> field; ++number) {
    if (std::from_chars(field.data(), field.data() + field.size(), value).ec != std::errc{}) value = 0;
    if (number == 14 || number == 15) stat.cpu_ticks += value;
    if (number == 22) stat.start_ticks = value;
    if (number == 24) stat.resident_pages = static_cast<int64_t>(value);
  }
  if (!fields || stat.start_ticks == 0) return std::nullopt;
  return stat;
}

bool ended(const Stat& stat) {
  return stat.state == 'Z' || stat.state == 'X';
}

int64_t number_after(const std::string& text, const std::string& name) {
  const size_t at = text.find(name);
  return at == std::string::npos ? 0 : std::atoll(text.c_str() + at + name.size());
}

}  // namespace

ProcessKey process_key(pid_t pid) {
  const auto stat = pid > 0 ? stat_of(pid) : std::nullopt;
  if (!stat || ended(*stat)) return {};
  return {pid, stat->start_ticks, boot()};
}

bool alive(const ProcessKey& key) {
  return key.pid > 0 && process_key(key.pid) == key;
}

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

nlohmann::json to_json(const ProcessKey& key) {
  return {{"pid", key.pid}, {"start_ticks", key.start_ticks}, {"boot", key.boot}};
}

ProcessKey process_key_from_json(const nlohmann::json& json) {
  return {json.at("pid").get<pid_t>(), json.at("start_ticks").get<uint64_t>(), json.at("boot").get<std::string>()};
}

ProcessUse use_of(const std::vector<ProcessKey>& processes) {
  static const double ticks_per_s = static_cast<double>(sysconf(_SC_CLK_TCK));
  static const int64_t page_bytes = sysconf(_SC_PAGESIZE);
  ProcessUse use;
  for (const ProcessKey& key : processes) {
    const auto stat = stat_of(key.pid);
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
