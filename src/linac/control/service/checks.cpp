#include "linac/control/service/checks.h"

#include <fmt/format.h>

#include <atomic>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "linac/base/base/refusal.h"
#include "linac/control/http/server/awaited.h"

namespace linac::service {

struct Checks::State : std::enable_shared_from_this<Checks::State> {
  struct Item {
    std::string user;
    std::function<void()> work;
  };

  void add(Item item) {
    const std::lock_guard lock(mutex);
    if (closed) return;
    int waiting_of_user = 0;
    for (const Item& other : waiting) waiting_of_user += other.user == item.user ? 1 : 0;
    if (waiting_of_user >= kWaitingOfUserMax)
      throw Refusal(RefusalKind::kLimit, fmt::format("[submit] {} requests of '{}' are being checked; wait for them",
                                                     waiting_of_user, item.user));
    waiting.push_back(std::move(item));
    start();
  }

  // With the mutex: those whose turn it is, each on a thread of its own.
  void start() {
    for (auto item = waiting.begin(); item != waiting.end() && running < kThreadsMax;) {
      int& of_user = running_of[item->user];
      if (of_user >= kThreadsOfUserMax) {
        ++item;
        continue;
      }
      ++of_user;
      ++running;
      std::thread([state = shared_from_this(), own = std::move(*item)]() mutable {
        state->carry_out(std::move(own));
      }).detach();
      item = waiting.erase(item);
    }
  }

  void carry_out(Item item) {
    item.work();
    const std::lock_guard lock(mutex);
    if (closed) {
      // It holds a coroutine of a server that is gone; the process ends soon.
      [[maybe_unused]] const auto* left_behind = new Item(std::move(item));
      return;
    }
    item.work = nullptr;
    --running;
    if (--running_of[item.user] == 0) running_of.erase(item.user);
    start();
  }

  std::mutex mutex;
  std::deque<Item> waiting;
  std::map<std::string, int> running_of;
  int running = 0;
  std::map<int64_t, std::function<void(const std::exception_ptr&)>> told;  // those who wait, by a number
  int64_t next = 0;
  bool closed = false;
};

Checks::Checks() : state_(std::make_shared<State>()) {}

void Checks::stop() {
  const std::lock_guard lock(state_->mutex);
  for (const auto& [number, tell] : state_->told)
    tell(std::make_exception_ptr(Refusal(RefusalKind::kLimit, "[submit] the service stops; submit it again later")));
}

void Checks::close() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  if (state_->told.empty() && state_->waiting.empty()) return;
  // They hold coroutines that were cut; the process ends soon.
  [[maybe_unused]] const auto* told = new auto(std::move(state_->told));
  [[maybe_unused]] const auto* waiting = new auto(std::move(state_->waiting));
  state_->told.clear();
  state_->waiting.clear();
}

Task<void> Checks::run(const std::string& user, const std::function<void()>& work) {
  boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor, kWaitMax);
  std::exception_ptr error;
  int64_t number = -1;
  try {
    co_await http::awaited([&](http::Finish finish) {
      // Whoever is first tells: the work, or the clock.
      const auto tell = [told = std::make_shared<std::atomic<bool>>(false),
                         finish = std::move(finish)](const std::exception_ptr& how) {
        if (!told->exchange(true)) finish(how);
      };
      timer.async_wait([tell](const boost::system::error_code& cancelled) {
        if (cancelled) return;
        tell(std::make_exception_ptr(
            Refusal(RefusalKind::kLimit,
                    "[submit] the files that the job names could not be looked at in time; is their disk well?")));
      });
      const auto whole = [tell, state = state_, work] {
        std::exception_ptr how;
        try {
          work();
        } catch (...) {
          how = std::current_exception();
        }
        const std::lock_guard lock(state->mutex);
        if (!state->closed) tell(how);
      };
      try {
        {
          const std::lock_guard lock(state_->mutex);
          number = state_->next++;
          state_->told.emplace(number, tell);
        }
        state_->add({user, whole});
      } catch (...) {
        tell(std::current_exception());
      }
    });
  } catch (...) {
    error = std::current_exception();
  }
  timer.cancel();
  {
    const std::lock_guard lock(state_->mutex);
    state_->told.erase(number);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace linac::service
