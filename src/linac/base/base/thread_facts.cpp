#include "linac/base/base/thread_facts.h"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <climits>
#include <memory>
#include <sstream>

namespace linac {
namespace {

constexpr size_t kProcTextBytesMax = size_t{8} << 20;  // the largest is a process's list of mappings

enum class FirstArgument { kOther, kDescriptor };

struct SystemCall {
  long number;
  const char* name;
  FirstArgument first_argument;
};

// Those that a worker can hang in.
constexpr SystemCall kSystemCalls[] = {
#ifdef SYS_poll  // younger architectures know only the calls with a time limit to the nanosecond
    {SYS_poll, "poll", FirstArgument::kOther},
    {SYS_select, "select", FirstArgument::kOther},
    {SYS_epoll_wait, "epoll_wait", FirstArgument::kDescriptor},
    {SYS_pause, "pause", FirstArgument::kOther},
#endif
    {SYS_read, "read", FirstArgument::kDescriptor},
    {SYS_readv, "readv", FirstArgument::kDescriptor},
    {SYS_pread64, "pread64", FirstArgument::kDescriptor},
    {SYS_write, "write", FirstArgument::kDescriptor},
    {SYS_writev, "writev", FirstArgument::kDescriptor},
    {SYS_pwrite64, "pwrite64", FirstArgument::kDescriptor},
    {SYS_fsync, "fsync", FirstArgument::kDescriptor},
    {SYS_fdatasync, "fdatasync", FirstArgument::kDescriptor},
    {SYS_flock, "flock", FirstArgument::kDescriptor},
    {SYS_fcntl, "fcntl", FirstArgument::kDescriptor},
    {SYS_ioctl, "ioctl", FirstArgument::kDescriptor},
    {SYS_close, "close", FirstArgument::kOther},  // its descriptor is gone already
    {SYS_openat, "openat", FirstArgument::kDescriptor},
    {SYS_recvfrom, "recvfrom", FirstArgument::kDescriptor},
    {SYS_recvmsg, "recvmsg", FirstArgument::kDescriptor},
    {SYS_sendto, "sendto", FirstArgument::kDescriptor},
    {SYS_sendmsg, "sendmsg", FirstArgument::kDescriptor},
    {SYS_connect, "connect", FirstArgument::kDescriptor},
    {SYS_accept, "accept", FirstArgument::kDescriptor},
    {SYS_accept4, "accept4", FirstArgument::kDescriptor},
    {SYS_epoll_pwait, "epoll_pwait", FirstArgument::kDescriptor},
    {SYS_ppoll, "ppoll", FirstArgument::kOther},
    {SYS_pselect6, "pselect6", FirstArgument::kOther},
    {SYS_futex, "futex", FirstArgument::kOther},
    {SYS_wait4, "wait4", FirstArgument::kOther},
    {SYS_waitid, "waitid", FirstArgument::kOther},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait", FirstArgument::kOther},
    {SYS_nanosleep, "nanosleep", FirstArgument::kOther},
    {SYS_clock_nanosleep, "clock_nanosleep", FirstArgument::kOther},
    {SYS_restart_syscall, "restart_syscall", FirstArgument::kOther},
};

constexpr long kIdleCalls[] = {
#ifdef SYS_poll
    SYS_poll,      SYS_select,          SYS_epoll_wait,     SYS_pause,
#endif
    SYS_ppoll,     SYS_pselect6,        SYS_epoll_pwait,    SYS_futex, SYS_rt_sigtimedwait,
    SYS_nanosleep, SYS_clock_nanosleep, SYS_restart_syscall};

std::string system_call_words(pid_t process, long number, uint64_t first_argument) {
  const auto* const known = std::find_if(std::begin(kSystemCalls), std::end(kSystemCalls),
                                         [&](const SystemCall& call) { return call.number == number; });
  if (known == std::end(kSystemCalls)) return fmt::format("system call {}", number);
  const int descriptor = static_cast<int>(first_argument);
  if (known->first_argument != FirstArgument::kDescriptor || descriptor < 0) return known->name;
  const std::string file = proc_link(fmt::format("/proc/{}/fd/{}", process, descriptor));
  if (file.empty()) return fmt::format("{} of file descriptor {}", known->name, descriptor);
  return fmt::format("{} of {}", known->name, file);
}

// "running", or the number of the system call (-1: in none), its six arguments and two registers.
void read_system_call(pid_t process, ThreadFacts& facts) {
  std::istringstream words(proc_text(fmt::format("/proc/{}/task/{}/syscall", process, facts.id)));
  long number = -1;
  uint64_t first_argument = 0;
  if (facts.state == 'R' || !(words >> number) || number < 0) return;
  facts.system_call = number;
  words >> std::hex >> first_argument;
  facts.system_call_words = system_call_words(process, number, first_argument);
}

// "" for an unknown letter.
const char* state_words(char state) {
  switch (state) {
    case 'R':
      return "running";
    case 'S':
      return "sleeping";
    case 'D':
      return "waiting for a device (D)";
    case 'T':
      return "stopped";
    case 't':
      return "stopped by a debugger";
    case 'Z':
      return "ended, but nobody has taken its exit status";
    case 'X':
      return "ended";
    case 'I':
      return "idle";
    default:
      return "";
  }
}

std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < ' '; }, '?');
  return text;
}

}  // namespace

std::optional<ProcessorTime> processor_time(pid_t process, pid_t thread) {
  std::istringstream numbers(proc_text(fmt::format("/proc/{}/task/{}/schedstat", process, thread)));
  ProcessorTime time;
  return numbers >> time.ran >> time.waited ? std::optional(time) : std::nullopt;
}

std::string proc_text(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return "";
  std::string text;
  std::array<char, 4096> buffer;
  while (text.size() < kProcTextBytesMax) {
    const ssize_t size = ::read(descriptor, buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(buffer.data(), static_cast<size_t>(size));
  }
  ::close(descriptor);
  return text;
}

std::string proc_link(const std::string& path) {
  std::array<char, PATH_MAX> target;
  const ssize_t size = ::readlink(path.c_str(), target.data(), target.size());
  return size > 0 ? std::string(target.data(), static_cast<size_t>(size)) : "";
}

std::vector<pid_t> thread_ids(pid_t process) {
  std::vector<pid_t> ids;
  const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir(fmt::format("/proc/{}/task", process).c_str()), closedir);
  while (const dirent* const entry = folder ? ::readdir(folder.get()) : nullptr) {
    const std::string_view name = entry->d_name;
    pid_t id = 0;
    if (std::from_chars(name.data(), name.data() + name.size(), id).ec == std::errc() && id > 0) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

std::optional<ThreadFacts> thread_facts(pid_t process, pid_t thread) {
  const std::string folder = fmt::format("/proc/{}/task/{}/", process, thread);
  ThreadFacts facts;
  facts.id = thread;
  std::istringstream status(proc_text(folder + "status"));
  for (std::string line; std::getline(status, line);) {
    std::istringstream words(line);
    std::string key;
    words >> key;
    if (key == "State:") words >> facts.state;
    if (key == "SigBlk:") words >> std::hex >> facts.blocked_signals;
    if (key == "SigPnd:") words >> std::hex >> facts.pending_signals;
  }
  if (facts.state == '?') return std::nullopt;
  facts.name = one_line(proc_text(folder + "comm"));
  facts.kernel_function = proc_text(folder + "wchan");
  if (facts.kernel_function == "0") facts.kernel_function.clear();
  read_system_call(process, facts);
  return facts;
}

std::string describe(const ThreadFacts& facts) {
  std::string line = fmt::format("thread {} \"{}\": ", facts.id, facts.name);
  const char* const words = state_words(facts.state);
  line += *words != '\0' ? words : fmt::format("state {}", facts.state);
  if (facts.system_call) {
    const bool blocked = facts.state == 'S' || facts.state == 'D';
    line += fmt::format(", {} {}", blocked ? "blocked in" : "in", facts.system_call_words);
  }
  if (!facts.kernel_function.empty()) line += fmt::format(" (kernel: {})", facts.kernel_function);
  return line;
}

bool is_idle(const ThreadFacts& facts) {
  if (facts.state == 'Z' || facts.state == 'X' || facts.state == 'I') return true;
  return facts.state == 'S' && facts.system_call && std::ranges::count(kIdleCalls, *facts.system_call) > 0;
}

std::vector<std::string> kernel_stack(pid_t process, pid_t thread, size_t lines_max) {
  std::istringstream text(proc_text(fmt::format("/proc/{}/task/{}/stack", process, thread)));
  std::vector<std::string> lines;
  for (std::string line; lines.size() < lines_max && std::getline(text, line);) {
    const size_t address_end = line.find("] ");  // "[<0>] ", a 0 since addresses of the kernel are secret
    lines.push_back(address_end == std::string::npos ? line : line.substr(address_end + 2));
  }
  return lines;
}

}  // namespace linac
