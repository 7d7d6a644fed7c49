#pragma once
// For tests only: threads and processes that hang at a known place.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "linac/base/base/thread_facts.h"

namespace linac::stacks {

// ThreadSanitizer keeps signals from a thread that computes or reads until it does something else, and lets nobody
// share its memory with a new process.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LINAC_THREAD_SANITIZER 1
#endif
#endif
#if defined(LINAC_THREAD_SANITIZER) || defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

inline constexpr auto kPatience = std::chrono::seconds(20);

__attribute__((noinline)) inline ssize_t wait_in_read(int descriptor, char* byte) {
  *byte = 0;
  const ssize_t size = ::read(descriptor, byte, 1);
  return *byte == 'x' ? size : -1;  // not a tail call: this function stays on the stack
}

__attribute__((noinline)) inline int64_t count_until(const std::atomic<bool>& stop) {
  volatile int64_t count = 0;
  while (!stop.load(std::memory_order_relaxed)) count = count + 1;
  return count;
}

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  void write_x() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  int ends[2] = {-1, -1};
};

inline bool eventually(const std::function<bool()>& holds) {
  using Clock = std::chrono::steady_clock;
  for (const auto end = Clock::now() + kPatience; Clock::now() < end;) {
    if (holds()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return false;
}

inline bool is_in(pid_t process, pid_t thread, long system_call) {
  const auto facts = thread_facts(process, thread);
  return facts && facts->state == 'S' && facts->system_call == system_call;
}

inline char state_of(pid_t process, pid_t thread) {
  const auto facts = thread_facts(process, thread);
  return facts ? facts->state : '?';
}

// Does not return before the pipe gives its byte, and meanwhile reacts to nothing, as if it waited for a device: so
// does the kernel hold whoever starts a process that still shares the memory, as vfork() does.
inline void wait_as_for_a_device(const Pipe& pipe) {
  std::vector<char> stack(256 << 10);
  const auto read_one = [](void* descriptor) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    char byte = 0;
    return static_cast<int>(::read(*static_cast<const int*>(descriptor), &byte, 1)) - 1;
  };
  int descriptor = pipe.ends[0];
  const pid_t child =
      ::clone(read_one, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK | SIGCHLD, static_cast<void*>(&descriptor));
  if (child > 0) ::waitpid(child, nullptr, 0);
}

// A thread with a name that has started its work.
class NamedThread {
 public:
  NamedThread(const char* name, std::function<void()> work)
      : thread_([this, name, work = std::move(work)] {
          pthread_setname_np(pthread_self(), name);
          id_ = static_cast<pid_t>(::syscall(SYS_gettid));
          work();
        }) {
    EXPECT_TRUE(eventually([this] { return id_ != 0; }));
  }
  ~NamedThread() { join(); }
  void join() {
    if (thread_.joinable()) thread_.join();
  }
  pid_t id() const { return id_; }
  pthread_t handle() { return thread_.native_handle(); }

 private:
  std::atomic<pid_t> id_{0};
  std::thread thread_;
};

// A process made by fork() that is gone at the end.
class Child {
 public:
  explicit Child(const std::function<void()>& work) : id_(::fork()) {
    EXPECT_GE(id_, 0);
    if (id_ != 0) return;
    work();
    ::_exit(0);
  }
  ~Child() {
    if (id_ <= 0 || ended_) return;
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
  pid_t id() const { return id_; }
  bool ends() {
    return eventually([this] { return ended_ = ended_ || ::waitpid(id_, nullptr, WNOHANG) == id_; });
  }

 private:
  pid_t id_;
  bool ended_ = false;
};

}  // namespace linac::stacks
