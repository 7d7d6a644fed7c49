#include "linac/base/stacks/traced_backtraces.h"

#include <fmt/format.h>
#include <libunwind-ptrace.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>

namespace linac::stacks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kHaltWait = std::chrono::milliseconds(150);  // for one thread; one that waits for a device never halts
constexpr auto kLookInterval = std::chrono::microseconds(200);

// A thread of another process, halted until the end of this object's life.
class HaltedThread {
 public:
  explicit HaltedThread(pid_t thread) : thread_(thread) {
    if (ptrace(PTRACE_SEIZE, thread_, nullptr, nullptr) != 0) {
      error_ = errno;
      return;
    }
    ptrace(PTRACE_INTERRUPT, thread_, nullptr, nullptr);
  }
  ~HaltedThread() {
    if (halted_) ptrace(PTRACE_DETACH, thread_, nullptr, signal_);
  }
  HaltedThread(const HaltedThread&) = delete;
  HaltedThread& operator=(const HaltedThread&) = delete;

  int error() const { return error_; }  // an errno when it cannot be traced

  bool wait(Clock::time_point deadline) {
    while (!halted_ && error_ == 0) {
      siginfo_t news = {};
      // Never WEXITED: the end of a child is news for somebody else.
      if (waitid(P_PID, static_cast<id_t>(thread_), &news, WSTOPPED | WNOHANG | __WALL) != 0) return false;
      if (news.si_pid != 0) {
        halted_ = true;
        // Halted by the arrival of a signal instead: it is passed on at the end.
        if (news.si_status >> 8 == 0) signal_ = news.si_status;
      } else if (Clock::now() >= deadline) {
        return false;
      } else {
        std::this_thread::sleep_for(kLookInterval);
      }
    }
    return halted_;
  }

 private:
  pid_t thread_;
  int error_ = 0;
  bool halted_ = false;
  intptr_t signal_ = 0;
};

std::vector<uintptr_t> frames_of(unw_addr_space_t space, pid_t thread, Clock::time_point deadline) {
  const std::unique_ptr<void, void (*)(void*)> access(_UPT_create(thread), _UPT_destroy);
  std::vector<uintptr_t> frames;
  unw_cursor_t cursor;
  if (!access || unw_init_remote(&cursor, space, access.get()) != 0) return frames;
  do {
    unw_word_t address = 0;
    if (unw_get_reg(&cursor, UNW_REG_IP, &address) != 0 || address == 0) break;
    const bool exact = frames.empty() || unw_is_signal_frame(&cursor) > 0;
    frames.push_back(exact ? address : address - 1);
  } while (frames.size() < kFramesMax && Clock::now() < deadline && unw_step(&cursor) > 0);
  return frames;
}

}  // namespace

std::string traced_backtraces(pid_t process, const std::vector<pid_t>& threads, Clock::time_point deadline,
                              const std::function<void(pid_t, const Backtrace&)>& found) {
  const std::unique_ptr<std::remove_pointer_t<unw_addr_space_t>, void (*)(unw_addr_space_t)> space(
      unw_create_addr_space(&_UPT_accessors, 0), unw_destroy_addr_space);
  if (!space) return "libunwind has no memory";
  for (const pid_t id : threads) {
    if (Clock::now() >= deadline) break;
    HaltedThread thread(id);
    if (thread.error() == ESRCH) continue;  // it has ended
    if (thread.error() != 0) {
      return fmt::format(
          "ptrace of process {} is refused ({}); see /proc/sys/kernel/yama/ptrace_scope, or end the debugger that "
          "traces it",
          process, std::strerror(thread.error()));
    }
    Backtrace backtrace;
    if (thread.wait(std::min(deadline, Clock::now() + kHaltWait))) {
      backtrace.frames = frames_of(space.get(), id, deadline);
      if (backtrace.frames.empty()) backtrace.why_none = "libunwind cannot read it";
    } else {
      backtrace.why_none = "it cannot be halted";
    }
    found(id, backtrace);
  }
  return "";
}

}  // namespace linac::stacks
