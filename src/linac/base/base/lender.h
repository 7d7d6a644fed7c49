#pragma once
// Things that are expensive to make, lent out and used again.

#include <memory>
#include <mutex>
#include <vector>

namespace linac {

/// Each thing has one borrower at a time; a new one is made when none is free. Thread-safe. Lives in a shared_ptr, and
/// as long as something is borrowed.
template <class T>
class Lender : public std::enable_shared_from_this<Lender<T>> {
 public:
  std::shared_ptr<T> borrow() {
    std::unique_ptr<T> thing;
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        thing = std::move(free_.back());
        free_.pop_back();
      }
    }
    if (thing == nullptr) thing = std::make_unique<T>();
    return {thing.release(), [lender = this->shared_from_this()](T* used) {
              const std::lock_guard lock(lender->mutex_);
              lender->free_.emplace_back(used);
            }};
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace linac
