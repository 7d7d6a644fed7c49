#pragma once
// Threads for many short parallel sections in a row: the loops of one replica's kernels. The caller computes beside its
// helpers, which stay awake for a moment after each section (waking a thread costs as much as a small section takes).
// For few long tasks, and threads with settings of their own, see thread_pool.h.

#include <atomic>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace linac {

/// run() may be called from one thread at a time. The helpers live as long as the team.
class ThreadTeam {
 public:
  /// `threads` in all: the caller of run() and threads - 1 helpers.
  explicit ThreadTeam(int threads);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  /// Calls task(0) ... task(count - 1), each once, started in this order, and returns when all are done. The exception
  /// of a failing task is rethrown here; tasks that have not started by then are left out.
  void run(int64_t count, const std::function<void(int64_t)>& task);
  int threads() const { return static_cast<int>(helpers_.size()) + 1; }

 private:
  void help();
  void take_tasks();

  const std::function<void(int64_t)>* task_ = nullptr;  // of the present section, as is count_
  int64_t count_ = 0;
  std::atomic<int64_t> next_{0};
  std::atomic<int> busy_{0};          // helpers that have not left the present section
  std::atomic<uint32_t> section_{0};  // its number
  std::atomic<bool> ending_{false};
  std::mutex failure_mutex_;
  std::exception_ptr failure_;
  std::vector<std::thread> helpers_;
};

}  // namespace linac
