#include "linac/base/stacks/process_stacks.h"

#include <fmt/format.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "linac/base/base/plural.h"
#include "linac/base/base/thread_facts.h"
#include "linac/base/stacks/frame_names.h"
#include "linac/base/stacks/thread_backtraces.h"
#include "linac/base/stacks/traced_backtraces.h"

namespace linac::stacks {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kThreadsMax = 256;
constexpr size_t kKernelLinesMax = 6;
constexpr auto kAnswerWait = milliseconds(300);  // for all threads together, which answer side by side
constexpr auto kNamesWait = milliseconds(1200);  // for reading symbol tables, half a gigabyte of LibTorch's among them
constexpr auto kProcessWait = milliseconds(2000);  // for everything about another process
constexpr auto kTraceWait = milliseconds(1000);    // of these, for halting and unwinding its threads

// What hangs comes first, for a long text may be cut (base/base/error.h): threads in a call that has to do with a file
// or a connection, then the first thread, which waits for them or computes, then those that run, and last those that
// have nothing to do.
void put_in_order(pid_t process, std::vector<ThreadFacts>& threads) {
  std::ranges::stable_sort(threads, {}, [process](const ThreadFacts& thread) {
    const bool idle = is_idle(thread);
    if (!idle && thread.state != 'R') return 0;
    if (thread.id == process) return 1;
    return idle ? 3 : 2;
  });
}

// What is known so far. Whoever is late with the rest shares it with whoever did not wait.
class Findings {
 public:
  void put_all(const std::vector<ThreadFacts>& threads) {
    const std::lock_guard lock(mutex_);
    threads_ = threads;
  }
  void put_kernel_stack(pid_t thread, std::vector<std::string> lines) {
    const std::lock_guard lock(mutex_);
    kernel_stacks_[thread] = std::move(lines);
  }
  void put_backtrace(pid_t thread, const Backtrace& backtrace) {
    const std::lock_guard lock(mutex_);
    backtraces_[thread] = backtrace;
  }
  void put_name(uintptr_t address, const std::string& name) {
    const std::lock_guard lock(mutex_);
    names_[address] = name;
  }
  void put_remark(const std::string& remark) {
    const std::lock_guard lock(mutex_);
    remark_ = remark;
  }

  std::vector<uintptr_t> addresses() const {
    const std::lock_guard lock(mutex_);
    std::vector<uintptr_t> all;
    for (const auto& [thread, backtrace] : backtraces_) {
      all.insert(all.end(), backtrace.frames.begin(), backtrace.frames.end());
    }
    return all;
  }

  std::string text() const {
    const std::lock_guard lock(mutex_);
    std::string text = remark_.empty() ? "" : remark_ + "\n";
    std::map<std::string, pid_t> told;  // the threads of a pool all wait at one place
    for (const ThreadFacts& thread : threads_) {
      text += describe(thread) + "\n";
      const auto found = backtraces_.find(thread.id);
      const Backtrace backtrace = found != backtraces_.end() ? found->second : Backtrace{};
      const std::string stack = stack_of(thread.id, backtrace);
      const auto [first, is_new] = told.emplace(stack, thread.id);
      const bool again = !is_new && !backtrace.frames.empty();
      text += again ? fmt::format("  the same stack as thread {}\n", first->second) : stack;
    }
    return text;
  }

 private:
  std::string stack_of(pid_t thread, const Backtrace& backtrace) const {
    std::string text;
    if (const auto lines = kernel_stacks_.find(thread); lines != kernel_stacks_.end()) {
      for (const std::string& line : lines->second) text += fmt::format("  kernel {}\n", line);
    }
    if (!backtrace.why_none.empty()) text += fmt::format("  no stack: {}\n", backtrace.why_none);
    for (size_t i = 0; i < backtrace.frames.size(); ++i) {
      const auto name = names_.find(backtrace.frames[i]);
      text += fmt::format("  #{} {}\n", i,
                          name != names_.end() ? name->second : fmt::format("0x{:x}", backtrace.frames[i]));
    }
    return text;
  }

  mutable std::mutex mutex_;
  std::vector<ThreadFacts> threads_;
  std::map<pid_t, std::vector<std::string>> kernel_stacks_;
  std::map<pid_t, Backtrace> backtraces_;
  std::map<uintptr_t, std::string> names_;
  std::string remark_;
};

// Lets the work run on a thread of its own, so that a disk or a lock that does not answer holds only that thread. When
// the time is up it is left to itself: the work must own what it uses. True if it was done in time.
bool run_within(milliseconds limit, std::function<void()> work) {
  std::packaged_task<void()> task(std::move(work));
  const auto done = task.get_future();
  std::thread thread;
  try {
    thread = std::thread(std::move(task));
  } catch (const std::system_error&) {
    return false;  // no more threads for this user: what is known without is told all the same
  }
  pthread_setname_np(thread.native_handle(), "stacks");
  const bool in_time = done.wait_for(limit) == std::future_status::ready;
  if (in_time) {
    thread.join();
  } else {
    thread.detach();
  }
  return in_time;
}

// "process 4711 (linac), 12 threads:"
std::string title(pid_t process, size_t threads) {
  std::string name = proc_text(fmt::format("/proc/{}/comm", process));
  while (!name.empty() && name.back() == '\n') name.pop_back();
  return fmt::format("process {} ({}), {}{}:\n", process, name, plural(static_cast<int64_t>(threads), "thread"),
                     threads > kThreadsMax ? fmt::format(", of which the first {}", kThreadsMax) : "");
}

std::vector<ThreadFacts> facts_of(pid_t process, std::vector<pid_t> threads) {
  threads.resize(std::min(threads.size(), kThreadsMax));
  std::vector<ThreadFacts> facts;
  for (const pid_t thread : threads) {
    if (auto one = thread_facts(process, thread)) facts.push_back(std::move(*one));
  }
  put_in_order(process, facts);
  return facts;
}

void add_names(pid_t process, Findings& findings) {
  name_frames(process, findings.addresses(),
              [&findings](uintptr_t address, const std::string& name) { findings.put_name(address, name); });
}

std::string nothing_known(pid_t process) {
  const bool exists = process > 0 && (::kill(process, 0) == 0 || errno != ESRCH);
  if (!exists) return fmt::format("process {} does not exist\n", process);
  return fmt::format("the threads of process {} cannot be listed; is /proc mounted, and a file descriptor free?\n",
                     process);
}

std::string stacks_of_this_process() {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  const pid_t process = ::getpid();
  const std::vector<pid_t> threads = thread_ids(process);
  if (threads.empty()) return nothing_known(process);
  const auto facts = facts_of(process, threads);  // before a signal ends what they wait in
  const auto findings = std::make_shared<Findings>();
  findings->put_all(facts);
  for (const auto& [thread, backtrace] : own_backtraces(facts, kAnswerWait)) findings->put_backtrace(thread, backtrace);
  const bool named = run_within(kNamesWait, [=] { add_names(process, *findings); });
  return title(process, threads.size()) + (named ? "" : "(the names of some functions could not be read in time)\n") +
         findings->text();
}

void look_at(pid_t process, const std::vector<pid_t>& threads, Findings& findings) {
  const auto deadline = Clock::now() + kTraceWait;
  const auto facts = facts_of(process, threads);
  findings.put_all(facts);
  std::vector<pid_t> alive;
  for (const ThreadFacts& thread : facts) {
    findings.put_kernel_stack(thread.id, kernel_stack(process, thread.id, kKernelLinesMax));
    if (thread.state != 'Z' && thread.state != 'X') alive.push_back(thread.id);
  }
  const std::string refused = traced_backtraces(
      process, alive, deadline,
      [&findings](pid_t thread, const Backtrace& backtrace) { findings.put_backtrace(thread, backtrace); });
  if (!refused.empty()) findings.put_remark("no C++ stacks: " + refused);
  add_names(process, findings);
}

std::string stacks_of(pid_t process) {
  const std::vector<pid_t> threads = thread_ids(process);
  if (threads.empty()) return nothing_known(process);
  const auto findings = std::make_shared<Findings>();
  const bool complete = run_within(kProcessWait, [=] { look_at(process, threads, *findings); });
  return title(process, threads.size()) + (complete ? "" : "(not everything could be found out in time)\n") +
         findings->text();
}

template <class Text>
std::string without_exceptions(Text&& text) noexcept {
  try {
    try {
      return text();
    } catch (const std::exception& error) {
      return fmt::format("the stacks could not be taken ({})\n", error.what());
    }
  } catch (...) {
    return {};
  }
}

}  // namespace

std::string own_stacks() noexcept {
  return without_exceptions(stacks_of_this_process);
}

std::string process_stacks(pid_t process) noexcept {
  if (process == ::getpid()) return own_stacks();
  return without_exceptions([process] { return stacks_of(process); });
}

}  // namespace linac::stacks
