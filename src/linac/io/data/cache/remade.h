#pragma once
// What stands in for a copy of the cache that turned out to be damaged while it was in use. Thread-safe: the first
// thread that finds out makes it anew, and all others have it from there on.

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>

namespace linac::data {

template <class Copy>
class Remade {
 public:
  using Make = std::function<std::shared_ptr<const Copy>()>;

  /// Null: there is none.
  const Copy* get() const { return now_.load(std::memory_order_acquire); }
  const Copy& get_or_make(const Make& make) {
    const std::scoped_lock lock(mutex_);
    if (!kept_) {
      // On a thread of its own, as the pieces count of which this is made: a reader's do not (piece_of_work.h).
      kept_ = std::async(std::launch::async, make).get();
      now_.store(kept_.get(), std::memory_order_release);
    }
    return *kept_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const Copy> kept_;
  std::atomic<const Copy*> now_ = nullptr;
};

}  // namespace linac::data
