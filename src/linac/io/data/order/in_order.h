#pragma once
// The files of a set opened several side by side (io/storage/read_width.h), and taken in their order. While one is
// awaited, the process counts as waiting for its input.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "linac/io/storage/read_width.h"

namespace linac::data {

/// One thread takes; the object owns the threads that open.
template <class Opened>
class InOrder {
 public:
  /// `open` is called by several threads, once for each of 0 ... count - 1, of which no more than the width are opened
  /// or wait to be taken. One file alone is opened by whoever takes it.
  InOrder(size_t count, std::function<Opened(size_t)> open) : count_(count), open_(std::move(open)) {
    const size_t threads = count < 2 ? 0 : std::min<size_t>(count, storage::kWidthMax.files);
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
  }
  /// Waits for those that are being opened.
  ~InOrder() {
    {
      const std::scoped_lock lock(mutex_);
      stop_ = true;
    }
    room_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  InOrder(const InOrder&) = delete;
  InOrder& operator=(const InOrder&) = delete;

  /// The next one, of `count`; what its opening threw.
  Opened take() {
    if (threads_.empty()) return open_(taken_++);
    std::unique_lock lock(mutex_);
    const size_t number = taken_;
    if (!opened_.contains(number)) {
      const storage::ReadWidth::Wait wait(storage::read_width());
      arrived_.wait(lock, [&] { return opened_.contains(number); });
    }
    const auto node = opened_.extract(number);
    ++taken_;
    room_.notify_all();
    if (node.mapped().second) std::rethrow_exception(node.mapped().second);
    return std::move(*node.mapped().first);
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      room_.wait(lock, [this] {
        return stop_ || (begun_ < count_ && begun_ - taken_ < static_cast<size_t>(storage::read_width().now().files));
      });
      if (stop_) return;
      const size_t number = begun_++;
      if (begun_ == count_) stop_ = true;
      lock.unlock();
      std::pair<std::optional<Opened>, std::exception_ptr> result;
      try {
        result.first = open_(number);
      } catch (...) {
        result.second = std::current_exception();
      }
      lock.lock();
      opened_.insert_or_assign(number, std::move(result));
      arrived_.notify_all();
      room_.notify_all();
    }
  }

  const size_t count_;
  const std::function<Opened(size_t)> open_;
  std::mutex mutex_;
  std::condition_variable room_, arrived_;
  size_t begun_ = 0, taken_ = 0;
  bool stop_ = false;
  std::map<size_t, std::pair<std::optional<Opened>, std::exception_ptr>> opened_;
  std::vector<std::thread> threads_;
};

}  // namespace linac::data
