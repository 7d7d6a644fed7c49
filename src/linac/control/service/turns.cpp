#include "linac/control/service/turns.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/refusal.h"

namespace linac::service {

Task<std::shared_ptr<void>> Turns::take(std::string who) {
  co_await http::awaited([this, &who](http::Finish finish) {
    std::exception_ptr refusal;
    {
      const std::lock_guard lock(mutex_);
      One& one = all_[who];
      if (free_ == 0 || one.held >= of_one_) {
        if (one.waiting.size() < kWaitingOfOneMax) {
          if (one.waiting.empty()) order_.push_back(who);
          one.waiting.push_back(std::move(finish));
          return;
        }
        refusal = std::make_exception_ptr(
            Refusal(RefusalKind::kLimit,
                    fmt::format("[service] {} requests of yours wait already, which are the most; wait for answers",
                                kWaitingOfOneMax)));
      } else {
        --free_;
        ++one.held;
      }
    }
    finish(refusal);
  });
  co_return std::shared_ptr<void>(nullptr, [this, who](void*) { give(who); });
}

void Turns::give(const std::string& who) {
  http::Finish finish;
  {
    const std::lock_guard lock(mutex_);
    const auto at = all_.find(who);
    --at->second.held;
    ++free_;
    finish = next();
    if (at->second.held == 0 && at->second.waiting.empty()) all_.erase(at);
  }
  if (finish) finish(nullptr);
}

/// Of the first who waits and may have one; null if nobody does.
http::Finish Turns::next() {
  const auto first =
      std::find_if(order_.begin(), order_.end(), [this](const auto& who) { return all_.at(who).held < of_one_; });
  if (first == order_.end()) return nullptr;
  const std::string who = *first;
  order_.erase(first);
  One& one = all_.at(who);
  http::Finish finish = std::move(one.waiting.front());
  one.waiting.pop_front();
  if (!one.waiting.empty()) order_.push_back(who);
  --free_;
  ++one.held;
  return finish;
}

const std::string& who_asks(const Request& request) {
  return request.caller.user.empty() ? request.caller.from : request.caller.user;
}

}  // namespace linac::service
