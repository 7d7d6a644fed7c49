#include "linac/base/base/thread_pool.h"

#include <utility>

#include "linac/base/base/error.h"

namespace linac {

ThreadPool::ThreadPool(int threads, std::function<void()> prepare) {
  LINAC_CHECK(threads > 0);
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this, prepare] { work(prepare); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadPool::run(int count, std::function<void(int)> task) {
  begin(count, std::move(task));
  wait();
}

void ThreadPool::begin(int count, std::function<void(int)> task) {
  const std::lock_guard lock(mutex_);
  LINAC_CHECK(!task_ && task);
  task_ = std::move(task);
  count_ = count;
  next_ = finished_ = 0;
  failures_.assign(static_cast<size_t>(count), nullptr);
  wake_.notify_all();
}

void ThreadPool::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return finished_ == count_; });
  task_ = {};
  for (const std::exception_ptr& failure : failures_) {
    if (failure) std::rethrow_exception(failure);
  }
}

void ThreadPool::work(const std::function<void()>& prepare) {
  if (prepare) prepare();
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return ending_ || (task_ && next_ < count_); });
    if (ending_) return;
    const int mine = next_++;
    lock.unlock();
    std::exception_ptr failure;
    try {
      task_(mine);  // stays until all are done
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failures_[static_cast<size_t>(mine)] = failure;
    if (++finished_ == count_) done_.notify_all();
  }
}

}  // namespace linac
