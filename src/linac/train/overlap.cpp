#include "linac/train/overlap.h"

#include <algorithm>
#include <chrono>

#include "linac/base/error.h"

namespace linac::train {
namespace {

// Large enough that the latency of a network (two rounds a bucket) is little beside the transfer, small enough that the
// last one, which nothing hides, is little beside the whole.
constexpr size_t kBucketFloats = size_t{1} << 18;

constexpr std::chrono::milliseconds kNowAndThen{20};

}  // namespace

std::vector<Bucket> make_buckets(const graph::Layout& gradient, size_t tail) {
  std::vector<Bucket> buckets;
  auto end = static_cast<size_t>(gradient.total);
  for (size_t i = gradient.slots.size(); i-- > 0;) {
    const auto begin = i == 0 ? 0 : static_cast<size_t>(gradient.slots[i].offset);
    if (end - begin < kBucketFloats && i > 0) continue;
    if (end > begin) buckets.push_back({begin, end - begin});
    end = begin;
  }
  buckets.push_back({static_cast<size_t>(gradient.total), tail});
  return buckets;
}

Progress::Progress(const graph::Layout& gradient, const std::vector<Bucket>& buckets, size_t replicas,
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

void Progress::told(size_t replica, int64_t offset, size_t count) {
  const std::lock_guard lock(mutex_);
  if (broken_off_) throw Error(ErrorCode::kPeerLost, "[train] the update was broken off");
  const auto at = static_cast<size_t>(offset);
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (at >= buckets_[i].begin && at < buckets_[i].begin + buckets_[i].size) missing_[replica][i] -= count;
  }
  ++tidings_;
  changed_.notify_all();
}

void Progress::finished(size_t replica) {
  const std::lock_guard lock(mutex_);
  done_[replica] = true;
  std::fill(missing_[replica].begin(), missing_[replica].end(), 0);
  note_end();
  ++tidings_;
  changed_.notify_all();
}

void Progress::failed(size_t replica) {
  const std::lock_guard lock(mutex_);
  failed_ = done_[replica] = true;
  changed_.notify_all();
}

void Progress::side_task_finished() {
  const std::lock_guard lock(mutex_);
  --side_tasks_;
  note_end();
}

void Progress::note_end() {
  if (side_tasks_ == 0 && std::find(done_.begin(), done_.end(), false) == done_.end()) computed_ = PhaseClock::now();
}

bool Progress::has_failed() const {
  const std::lock_guard lock(mutex_);
  return failed_;
}

bool Progress::complete(size_t bucket) const {
  return std::all_of(missing_.begin(), missing_.end(),
                     [&](const std::vector<size_t>& floats) { return floats[bucket] == 0; });
}

bool Progress::wait_for(size_t bucket, const std::function<void(size_t)>& further,
                        const std::function<void()>& now_and_then) {
  std::unique_lock lock(mutex_);
  bool news = true;
  while (!failed_ && !complete(bucket)) {
    const auto at_work = static_cast<size_t>(std::find(done_.begin(), done_.end(), false) - done_.begin());
    const size_t heard = tidings_;
    lock.unlock();
    if (news) further(at_work);
    now_and_then();
    lock.lock();
    changed_.wait_for(lock, kNowAndThen, [&] { return failed_ || tidings_ != heard; });
    news = tidings_ != heard;
  }
  return !failed_;
}

void Progress::break_off() {
  const std::lock_guard lock(mutex_);
  broken_off_ = true;
}

std::optional<PhaseClock::Seconds> Progress::computed() const {
  const std::lock_guard lock(mutex_);
  return computed_;
}

}  // namespace linac::train
