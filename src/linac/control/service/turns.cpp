#include "linac/control/service/turns.h"

namespace linac::service {

Task<std::shared_ptr<void>> Turns::take() {
  co_await http::awaited([this](http::Finish finish) {
    {
      const std::lock_guard lock(mutex_);
      if (free_ == 0) {
        waiting_.push_back(std::move(finish));
        return;
      }
      --free_;
    }
    finish(nullptr);
  });
  co_return std::shared_ptr<void>(nullptr, [this](void*) { give(); });
}

void Turns::give() {
  http::Finish next;
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.empty()) {
      ++free_;
      return;
    }
    next = std::move(waiting_.front());
    waiting_.pop_front();
  }
  next(nullptr);
}

}  // namespace linac::service
