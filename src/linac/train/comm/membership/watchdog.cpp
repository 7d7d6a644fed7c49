#include "linac/train/comm/membership/watchdog.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <utility>

#include "linac/base/base/piece_of_work.h"
#include "linac/base/base/process_key.h"
#include "linac/base/base/thread_facts.h"

namespace linac::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// What the clock takes for one tick at most: the rest, this process was not running.
constexpr int64_t kMaxTickMs = 500;

// How long threads of this process were ready to run and had no processor.
class ReadyTime {
 public:
  /// The most of any thread since the last look, in ms. Not of the thread that looks.
  int64_t look() {
    const auto now = Clock::now();
    const auto passed = std::chrono::nanoseconds(now - std::exchange(looked_, now)).count();
    int64_t most = 0;
    std::map<pid_t, Seen> all;
    for (const pid_t thread : thread_ids(getpid())) {
      if (thread == gettid()) continue;
      const auto stat = process_stat(thread);
      const auto time = processor_time(getpid(), thread);
      if (!time) continue;
      const Seen seen = all[thread] = {.ready = stat && stat->state == 'R', .time = *time};
      const auto before = before_.find(thread);
      if (before == before_.end()) continue;
      most = std::max(most, seen.time.waited - before->second.time.waited);
      if (seen.ready && before->second.ready) most = std::max(most, passed - (seen.time.ran - before->second.time.ran));
    }
    before_ = std::move(all);
    return most / 1'000'000;
  }
  void forget() { before_.clear(); }

 private:
  struct Seen {
    bool ready = false;
    ProcessorTime time = {};
  };
  std::map<pid_t, Seen> before_;
  Clock::time_point looked_ = Clock::now();
};

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

int64_t Watchdog::longest_silence() const {
  int64_t longest = 0;
  for (const Mark& mark : marks_)
    if (mark.watched) longest = std::max(longest, clock_ms_ - mark.since_ms);
  return longest;
}

void Watchdog::run() {
  const milliseconds tick(std::clamp<int64_t>(limit_ms_ / 20, 5, 100));
  auto last = Clock::now();
  ReadyTime ready;
  std::unique_lock lock(mutex_);
  while (!ending_now_.wait_for(lock, tick, [&] { return ending_; })) {
    int64_t without_processor = 0;
    if (longest_silence() >= limit_ms_ / 4) {
      lock.unlock();
      without_processor = ready.look();
      lock.lock();
    } else {
      ready.forget();
    }
    const auto now = Clock::now();
    const int64_t passed =
        std::clamp<int64_t>(std::chrono::duration_cast<milliseconds>(now - last).count(), 0, kMaxTickMs);
    clock_ms_ += std::max(passed - without_processor, (passed + 3) / 4);
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
