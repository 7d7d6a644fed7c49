#pragma once
// How far the replicas of this worker are with the buckets of an update: where computing (compute.h) and exchange
// (exchange.h) meet.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "linac/model/graph/parameters.h"
#include "linac/train/train/exchange/buckets.h"
#include "linac/train/train/record/phase_clock.h"

namespace linac::train {

/// Of one update. Replicas report from their threads, one thread waits.
class ReplicaProgress {
 public:
  /// Both must outlive it. `side_tasks`: so many are done besides, and count as computing.
  ReplicaProgress(const graph::Layout& gradient, const std::vector<Bucket>& buckets, size_t replicas,
                  size_t side_tasks = 0);

  /// Some of a replica's gradient stands in its message. Throws if the update has been broken off.
  void told(size_t replica, int64_t offset, size_t count);
  /// All of the message does, or never will.
  void finished(size_t replica);
  void failed(size_t replica);
  void side_task_finished();

  bool has_failed() const;
  /// True once the bucket of all replicas is there, false if it will never be. In between calls `further` with the
  /// first replica that is not done, at first and whenever a replica has come further, and `now_and_then` for the rest.
  bool wait_for(size_t bucket, const std::function<void(size_t)>& further, const std::function<void()>& now_and_then);
  /// The update is in vain: the replicas stop where they report next.
  void break_off();
  /// When all replicas and side tasks were done; nothing before.
  std::optional<PhaseClock::Seconds> computed() const;

 private:
  bool complete(size_t bucket) const;
  void note_end();

  const std::vector<Bucket>& buckets_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::vector<size_t>> missing_;  // floats, by replica and bucket
  std::vector<bool> done_;
  size_t reports_ = 0, side_tasks_;
  bool failed_ = false, broken_off_ = false;
  std::optional<PhaseClock::Seconds> computed_;
};

}  // namespace linac::train
