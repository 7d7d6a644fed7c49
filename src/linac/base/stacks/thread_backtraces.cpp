#include "linac/base/stacks/thread_backtraces.h"

#include <execinfo.h>
#include <signal.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

namespace linac::stacks {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kHandlerFrames = 2;      // the handler and the kernel's way back from it
constexpr int kInterceptorFrames = 6;  // what a sanitizer may put in between
constexpr int kCaptured = static_cast<int>(kFramesMax) + kHandlerFrames + kInterceptorFrames;
constexpr auto kLookInterval = std::chrono::microseconds(200);
constexpr int kFirstSignal = 7;  // after SIGRTMIN; the first ones are what programs take for themselves

// Where one thread writes its stack; whoever answers late still does.
struct Answer {
  pid_t thread = 0;
  std::array<void*, kCaptured> frames = {};
  int count = 0;
  uintptr_t interrupted = 0;  // the instruction; 0 if unknown
  std::atomic<bool> asked{false}, done{false};
};
static_assert(std::atomic<bool>::is_always_lock_free);

uintptr_t interrupted_instruction(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return static_cast<uintptr_t>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<uintptr_t>(machine.pc);
#else
  static_cast<void>(machine);
  return 0;
#endif
}

// Only what is allowed in a handler: backtrace() takes neither memory nor a lock once libgcc is loaded.
void on_signal(int, siginfo_t* info, void* context) {
  if (info->si_code != SI_QUEUE || info->si_pid != ::getpid()) return;  // somebody else's
  const int error = errno;
  auto* const answer = static_cast<Answer*>(info->si_value.sival_ptr);
  if (!answer->asked.load(std::memory_order_acquire)) return;  // never so, but now the rest may be read and written
  answer->interrupted = interrupted_instruction(context);
  answer->count = ::backtrace(answer->frames.data(), kCaptured);
  answer->done.store(true, std::memory_order_release);
  errno = error;
}

// The handler stays for good: a signal that reached its thread late would otherwise end the process. 0: none is free.
int installed_signal() {
  static const int installed = [] {
    for (int signal = SIGRTMIN + kFirstSignal; signal <= SIGRTMAX; ++signal) {
      struct sigaction action = {};
      if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
      action = {};
      action.sa_sigaction = on_signal;
      action.sa_flags = SA_SIGINFO | SA_RESTART;
      if (sigaction(signal, &action, nullptr) == 0) return signal;
    }
    return 0;
  }();
  return installed;
}

bool contains(uint64_t signals, int signal) {
  return (signals >> (signal - 1) & 1) != 0;
}

// To a thread that waits for signals or blocks ours, it would be news that nobody understands.
std::string why_not_asked(const ThreadFacts& thread, int signal) {
  if (signal == 0) return "no real-time signal is free";
  if (contains(thread.blocked_signals, signal)) return "it blocks signals";
  if (thread.system_call == SYS_rt_sigtimedwait) return "it waits for signals";
  if (contains(thread.pending_signals, signal)) return "it has not answered an earlier question yet";
  return "";
}

// 0, or an errno.
int ask(Answer& answer, int signal) {
  siginfo_t info = {};
  info.si_signo = signal;
  info.si_code = SI_QUEUE;
  info.si_pid = ::getpid();
  info.si_uid = ::getuid();
  info.si_value.sival_ptr = &answer;
  answer.asked.store(true, std::memory_order_release);
  return ::syscall(SYS_rt_tgsigqueueinfo, ::getpid(), answer.thread, signal, &info) == 0 ? 0 : errno;
}

// `exact`: the first address is that of an instruction and not of a return.
std::vector<uintptr_t> frames_within_calls(void* const* first, void* const* last, bool exact) {
  std::vector<uintptr_t> frames;
  for (void* const* frame = first; frame < last && frames.size() < kFramesMax; ++frame) {
    const auto address = reinterpret_cast<uintptr_t>(*frame);
    frames.push_back(exact && frames.empty() ? address : address - 1);
  }
  return frames;
}

std::vector<uintptr_t> without_handler(const Answer& answer) {
  const auto first = answer.frames.begin(), last = first + answer.count;
  const auto interrupted = std::find(first, last, reinterpret_cast<void*>(answer.interrupted));
  if (interrupted != last) return frames_within_calls(interrupted, last, true);
  return frames_within_calls(std::min(first + kHandlerFrames, last), last, true);
}

std::vector<uintptr_t> frames_of_caller() {
  std::array<void*, kCaptured> frames;
  const int count = ::backtrace(frames.data(), kCaptured);
  return frames_within_calls(frames.data(), frames.data() + count, false);
}

// Every answer that may still be written to, at most one a thread; never destroyed, as signals outlive the end of
// main().
std::vector<std::unique_ptr<Answer>>& awaited() {
  static auto& answers = *new std::vector<std::unique_ptr<Answer>>();
  return answers;
}

bool has_ended(pid_t thread) {
  return ::syscall(SYS_tgkill, ::getpid(), thread, 0) != 0 && errno == ESRCH;
}

void forget_what_is_settled() {
  std::erase_if(awaited(), [](const auto& answer) {
    return answer->done.load(std::memory_order_acquire) || has_ended(answer->thread);
  });
}

// The new answers, asked for; `backtraces` says why some were not.
std::vector<Answer*> ask_all(const std::vector<ThreadFacts>& threads, std::map<pid_t, Backtrace>& backtraces) {
  const int signal = installed_signal();
  std::vector<Answer*> asked;
  asked.reserve(threads.size());
  for (const ThreadFacts& thread : threads) {
    if (backtraces.contains(thread.id)) continue;
    Backtrace& backtrace = backtraces[thread.id];
    backtrace.why_none = why_not_asked(thread, signal);
    if (!backtrace.why_none.empty()) continue;
    Answer& answer = *awaited().emplace_back(std::make_unique<Answer>());
    answer.thread = thread.id;
    const int error = ask(answer, signal);
    if (error == 0) {
      asked.push_back(&answer);
    } else {
      answer.done = true;
      if (error != ESRCH) backtrace.why_none = std::strerror(error);
    }
  }
  return asked;
}

}  // namespace

std::map<pid_t, Backtrace> own_backtraces(const std::vector<ThreadFacts>& threads, std::chrono::milliseconds wait) {
  forget_what_is_settled();
  std::map<pid_t, Backtrace> backtraces;
  const auto caller = static_cast<pid_t>(::syscall(SYS_gettid));
  backtraces[caller].frames = frames_of_caller();  // this also loads libgcc before a handler needs it
  const std::vector<Answer*> asked = ask_all(threads, backtraces);
  const auto end = Clock::now() + wait;
  for (const Answer* const answer : asked) {
    const auto done = [&] { return answer->done.load(std::memory_order_acquire); };
    while (!done() && Clock::now() < end) std::this_thread::sleep_for(kLookInterval);
    Backtrace& backtrace = backtraces[answer->thread];
    if (done()) {
      backtrace.frames = without_handler(*answer);
    } else if (!has_ended(answer->thread)) {
      backtrace.why_none = "it did not answer a signal";
    }
  }
  forget_what_is_settled();
  return backtraces;
}

}  // namespace linac::stacks
