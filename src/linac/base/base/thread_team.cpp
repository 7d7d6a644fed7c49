#include "linac/base/base/thread_team.h"

#include <utility>

#include "linac/base/base/error.h"

namespace linac {
namespace {

constexpr int kSpins = 1000;  // of some 40 to 140 cycles each: a few ten microseconds

void relax() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits until the value is no longer `old`: awake at first, then asleep.
template <class Value>
void await_change(const std::atomic<Value>& value, Value old) {
  for (int spin = 0; spin < kSpins; ++spin) {
    if (value.load(std::memory_order_acquire) != old) return;
    relax();
  }
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

ThreadTeam::ThreadTeam(int threads) {
  LINAC_CHECK(threads > 0);
  for (int i = 1; i < threads; ++i) helpers_.emplace_back([this] { help(); });
}

ThreadTeam::~ThreadTeam() {
  ending_ = true;
  ++section_;
  section_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

void ThreadTeam::run(int64_t count, const std::function<void(int64_t)>& task) {
  task_ = &task;
  count_ = count;
  next_ = 0;
  busy_ = static_cast<int>(helpers_.size());
  section_.fetch_add(1, std::memory_order_release);
  section_.notify_all();
  take_tasks();
  for (int busy = busy_.load(std::memory_order_acquire); busy > 0; busy = busy_.load(std::memory_order_acquire))
    await_change(busy_, busy);
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void ThreadTeam::help() {
  for (uint32_t seen = 0;; ++seen) {
    await_change(section_, seen);
    if (ending_) return;
    take_tasks();
    if (busy_.fetch_sub(1, std::memory_order_acq_rel) == 1) busy_.notify_all();
  }
}

void ThreadTeam::take_tasks() {
  try {
    for (int64_t mine = next_++; mine < count_; mine = next_++) (*task_)(mine);
  } catch (...) {
    next_ = count_;
    const std::lock_guard lock(failure_mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
}

}  // namespace linac
