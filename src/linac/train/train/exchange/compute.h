#pragma once
// The first part of an update: the replicas of this worker, computed side by side on a pool of threads. Each fills a
// message of its own and tells, as it goes, how much of it is there; nothing here knows of other workers. Used from one
// thread.

#include <cstddef>
#include <functional>
#include <vector>

#include "linac/base/base/thread_pool.h"
#include "linac/base/job/job.h"
#include "linac/model/graph/gradient_ready.h"
#include "linac/model/models/contribution.h"
#include "linac/train/train/exchange/message.h"
#include "linac/train/train/exchange/progress.h"
#include "linac/train/train/exchange/replica_devices.h"

namespace linac::train {

/// What needs neither an update nor anything that it changes: done while its sum is on the way.
struct SideWork {
  size_t tasks = 0;
  std::function<void(size_t task)> run{};
  size_t network = 0;  // of the state: of whose update its time is
};

/// May tell `ready` of gradients that are final before it returns, of all weights then: they travel while it goes on.
using ReplicaFunction = std::function<models::Contribution(size_t owned_index, const graph::GradientReady& ready)>;

class ReplicaCompute {
 public:
  /// `concurrency`: replicas computed side by side on this worker; `devices`, if it has several, are borrowed.
  ReplicaCompute(const job::Job& job, int concurrency, ReplicaDevices* devices = nullptr);

  /// Begins to fill `messages`, one a replica, and returns at once. end() or break_off() must follow; everything given
  /// must live until then.
  void begin(const ReplicaFunction& compute, const SideWork& side, const Wishes& wishes, std::vector<Message>& messages,
             ReplicaProgress& progress);
  /// Returns when all is done; throws what a replica threw.
  void end();
  /// The update is in vain: returns when the replicas have stopped.
  void break_off(ReplicaProgress& progress);

  /// Of the tasks of the last begin(), replicas first; once end() has returned.
  struct TaskTime {
    double seconds = 0, backward_s = 0;
  };
  const std::vector<TaskTime>& times() const { return times_; }

  /// Other work of the replicas, done when it returns.
  void run(size_t tasks, const std::function<void(size_t task)>& task);

 private:
  void fill(size_t index, const ReplicaFunction& compute, const Wishes& wishes, Message& message,
            ReplicaProgress& progress) const;

  const job::Job& job_;
  ReplicaDevices* const devices_;
  ThreadPool pool_;
  std::vector<TaskTime> times_;  // each written by its task
};

}  // namespace linac::train
