#include "linac/train/comm/membership/watchdog.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "linac/base/base/piece_of_work.h"

namespace linac::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// What the clock takes for one tick at most: the rest, this process was not running.
constexpr int64_t kMaxTickMs = 500;

}  // namespace

Watchdog::Watchdog(milliseconds limit, GiveUp give_up)
    : limit_ms_(limit.count()), give_up_(std::move(give_up)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ending_now_.notify_all();
  thread_.join();
}

void Watchdog::mark(Post post, const std::string& what, int number, bool watched, int patience) {
  const std::lock_guard lock(mutex_);
  marks_[static_cast<size_t>(post)] = {what, number, watched, patience, clock_ms_};
}

Activity Watchdog::activity(Post post) const {
  const std::lock_guard lock(mutex_);
  const Mark& mark = marks_[static_cast<size_t>(post)];
  return {.what = in_words(mark), .since_ms = clock_ms_ - mark.since_ms, .waiting = !mark.watched};
}

std::string Watchdog::in_words(const Mark& mark) {
  return mark.number < 0 ? mark.what : fmt::format("{} {}", mark.what, mark.number);
}

void Watchdog::run() {
  const milliseconds tick(std::clamp<int64_t>(limit_ms_ / 20, 5, 100));
  auto last = Clock::now();
  std::unique_lock lock(mutex_);
  while (!ending_now_.wait_for(lock, tick, [&] { return ending_; })) {
    const auto now = Clock::now();
    clock_ms_ += std::clamp<int64_t>(std::chrono::duration_cast<milliseconds>(now - last).count(), 0, kMaxTickMs);
    last = now;
    if (const uint64_t pieces = pieces_of_work; std::exchange(pieces_, pieces) != pieces)
      marks_[static_cast<size_t>(Post::kTraining)].since_ms = clock_ms_;
    const auto late = std::find_if(marks_.begin(), marks_.end(), [&](const Mark& mark) {
      return mark.watched && clock_ms_ - mark.since_ms >= mark.patience * limit_ms_;
    });
    if (late == marks_.end()) continue;
    const std::string what = in_words(*late);
    const double seconds = static_cast<double>(clock_ms_ - late->since_ms) / 1000;
    lock.unlock();
    give_up_(what, seconds);
    return;
  }
}

}  // namespace linac::comm
