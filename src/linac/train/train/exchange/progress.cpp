#include "linac/train/train/exchange/progress.h"

#include <algorithm>
#include <chrono>

#include "linac/base/base/error.h"

namespace linac::train {
namespace {

constexpr std::chrono::milliseconds kNowAndThen{20};

}  // namespace

ReplicaProgress::ReplicaProgress(const graph::Layout& gradient, const std::vector<Bucket>& buckets, size_t replicas,
                                 size_t side_tasks)
    : buckets_(buckets), done_(replicas, false), side_tasks_(side_tasks) {
  std::vector<size_t> floats(buckets.size(), 0);
  for (const graph::Slot& slot : gradient.slots) {
    for (size_t i = 0; i < buckets.size(); ++i) {
      const auto at = static_cast<size_t>(slot.offset);
      if (at >= buckets[i].begin && at < buckets[i].begin + buckets[i].size)
        floats[i] += static_cast<size_t>(slot.size);
    }
  }
  floats.back() = 1;  // never told before the end
  missing_.assign(replicas, floats);
  note_end();
}

void ReplicaProgress::told(size_t replica, int64_t offset, size_t count) {
  const std::lock_guard lock(mutex_);
  if (broken_off_) throw Error(ErrorCode::kPeerLost, "[train] the update was broken off");
  const auto at = static_cast<size_t>(offset);
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (at >= buckets_[i].begin && at < buckets_[i].begin + buckets_[i].size) missing_[replica][i] -= count;
  }
  ++reports_;
  changed_.notify_all();
}

void ReplicaProgress::finished(size_t replica) {
  const std::lock_guard lock(mutex_);
  done_[replica] = true;
  std::fill(missing_[replica].begin(), missing_[replica].end(), 0);
  note_end();
  ++reports_;
  changed_.notify_all();
}

void ReplicaProgress::failed(size_t replica) {
  const std::lock_guard lock(mutex_);
  failed_ = done_[replica] = true;
  changed_.notify_all();
}

void ReplicaProgress::side_task_finished() {
  const std::lock_guard lock(mutex_);
  --side_tasks_;
  note_end();
}

void ReplicaProgress::note_end() {
  if (side_tasks_ == 0 && std::find(done_.begin(), done_.end(), false) == done_.end()) computed_ = PhaseClock::now();
}

bool ReplicaProgress::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

bool ReplicaProgress::complete(size_t bucket) const {
  return std::all_of(missing_.begin(), missing_.end(),
                     [&](const std::vector<size_t>& floats) { return floats[bucket] == 0; });
}

bool ReplicaProgress::wait_for(size_t bucket, const std::function<void(size_t)>& further,
                               const std::function<void()>& now_and_then) {
  std::unique_lock lock(mutex_);
  bool news = true;
  while (!failed_ && !complete(bucket)) {
    const auto at_work = static_cast<size_t>(std::find(done_.begin(), done_.end(), false) - done_.begin());
    const size_t heard = reports_;
    lock.unlock();
    if (news) further(at_work);
    now_and_then();
    lock.lock();
    changed_.wait_for(lock, kNowAndThen, [&] { return failed_ || reports_ != heard; });
    news = reports_ != heard;
  }
  return !failed_;
}

void ReplicaProgress::break_off() {
  const std::lock_guard lock(mutex_);
  broken_off_ = true;
}

std::optional<PhaseClock::Seconds> ReplicaProgress::computed() const {
  const std::lock_guard lock(mutex_);
  return computed_;
}

}  // namespace linac::train
