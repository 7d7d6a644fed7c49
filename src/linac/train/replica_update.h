#pragma once
// One update of one network from the contributions of all replicas: computed side by side on every worker, added up
// along the fixed tree while the rest is still computed, applied alike everywhere; and sums of what the replicas find
// in a test. Used from one thread.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/rng.h"
#include "linac/base/thread_pool.h"
#include "linac/comm/group.h"
#include "linac/comm/replica_sum.h"
#include "linac/graph/gradient_ready.h"
#include "linac/models/contribution.h"
#include "linac/spec/job.h"
#include "linac/train/loop.h"
#include "linac/train/overlap.h"

namespace linac::train {

/// What needs neither an update nor anything that it changes: done while its sum is on the way.
struct SideWork {
  size_t tasks = 0;
  std::function<void(size_t task)> run{};
};

class ReplicaUpdate {
 public:
  /// `concurrency`: replicas computed side by side on this worker.
  ReplicaUpdate(const spec::Job& job, comm::Group& group, int concurrency, PhaseClock& clock);

  /// Takes the replicas over that this worker carries in the group's view. Before the first use, and in each new view.
  void take_place();

  /// May tell `ready` of gradients that are final before it returns, of all weights then: they travel while it goes on.
  using ReplicaFunction = std::function<models::Contribution(size_t owned_index, const graph::GradientReady& ready)>;

  /// Collective. `losses`: the names of Contribution::losses; with `prefix` they are the names in `result`. False (and
  /// why, in `result`) if the network was left as it was.
  bool run(const std::string& prefix, const std::vector<std::string>& losses, Network& network, double learning_rate,
           const ReplicaFunction& compute, bool stop_wanted, StepResult& result, const SideWork& side = {});

  /// Collective. Replica r takes the chunks r, r + replicas, ... of a set: the division of the work follows the
  /// replicas, like everything else. `share` makes the message of the chunks given to it (on several threads at once);
  /// `total` becomes the sum over the replicas. All have the same size.
  void sum_chunks(int64_t chunks, const std::function<AlignedFloats(std::span<const int64_t>)>& share,
                  std::span<float> total);

  /// Keys of a step's random numbers: a rollback must not meet the same numbers again, they are what led to the
  /// collapse. `ahead`: of a later step of the epoch.
  RngKey key(const TrainState& state, int replica, int ahead = 0) const;

  const std::vector<int>& owned() const { return owned_; }  // replicas of this worker

 private:
  struct Message;

  void compute_replica(size_t index, const ReplicaFunction& compute, bool stop_wanted, bool next_view_wanted,
                       Message& message, Progress& progress) const;
  void sum_buckets(const std::vector<Bucket>& buckets, std::vector<Message>& messages, Progress& progress,
                   Message& total);
  bool apply(const std::string& prefix, const std::vector<std::string>& losses, Message& total, Network& network,
             double learning_rate, StepResult& result) const;
  void account(const PhaseClock::Seconds& begin, const PhaseClock::Seconds& summed, const PhaseClock::Seconds& updated,
               const PhaseClock::Seconds& computed);

  const spec::Job& job_;
  comm::Group& group_;
  std::vector<int> owned_;
  std::optional<comm::ReplicaSum> sum_;
  ThreadPool pool_;
  PhaseClock& clock_;
};

}  // namespace linac::train
