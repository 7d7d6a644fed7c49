#pragma once
// A fixed set of threads that runs the same small task list again and again: a worker's replicas side by side.

#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace linac {

/// For one thread at a time. The threads live as long as the pool.
class ThreadPool {
 public:
  /// `prepare` runs once on each thread before its first task (e.g. to set that thread's own number of threads).
  explicit ThreadPool(int threads, std::function<void()> prepare = {});
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  /// Calls task(0) ... task(count - 1), each once, and returns when all are done. The exception of the lowest-numbered
  /// failing task is rethrown here.
  void run(int count, std::function<void(int)> task);
  /// The same in two halves, between which the caller does something else. wait() must follow.
  void begin(int count, std::function<void(int)> task);
  void wait();
  int threads() const { return static_cast<int>(threads_.size()); }

 private:
  void work(const std::function<void()>& prepare);

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  std::function<void(int)> task_;
  int count_ = 0, next_ = 0, finished_ = 0;
  bool ending_ = false;
  std::vector<std::exception_ptr> failures_;
  std::vector<std::thread> threads_;
};

}  // namespace linac
