#pragma once
// An update whose replicas are computed a second time by other workers (draw.h). Each tells the digests of what it has
// computed, so few bytes travel; where two differ further workers decide (verdict.h), before the sum changes anything.
// The digests of the sum as it came to each are compared as well. What it finds is an error of reading, of computing or
// of memory while a replica is computed, and a sum that came otherwise to some. What is wrong in all workers alike, as
// where a sum is added up wrongly, and what goes wrong in the update behind it does not see; those that hold other bits
// afterwards are found by state/same_state.h. Used from one thread, but where it says so.

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/train/comm/group.h"
#include "linac/train/train/audit/digest.h"
#include "linac/train/train/audit/finding.h"
#include "linac/train/train/audit/verdict.h"
#include "linac/train/train/exchange/compute.h"

namespace linac::train {

/// The contribution to an update of any replica, whoever carries it, from nothing but the state. On several threads.
using AnyReplica = std::function<models::Contribution(int replica)>;

class AuditedUpdate {
 public:
  /// Borrows all. `auditors`: of draw.h; nothing: the update is not audited, and all that follows does nothing.
  AuditedUpdate(comm::Group& group, const graph::Parameters& network, const std::vector<int>& owned,
                const std::optional<std::vector<int>>& auditors, const AnyReplica& again);
  AuditedUpdate(const AuditedUpdate&) = delete;
  AuditedUpdate& operator=(const AuditedUpdate&) = delete;

  /// The same, whose contributions it takes note of. On several threads.
  ReplicaFunction watched(const ReplicaFunction& compute);
  /// What this worker computes of other workers' replicas, and `side` behind it.
  SideWork beside(const SideWork& side);

  /// The update is in vain: what has not begun of beside() is left.
  void give_up() { given_up_ = true; }

  /// Collective, once the own replicas are computed and summed: waits for beside(), and compares. `sum`: as it came to
  /// this worker. Throws what computing threw.
  bool is_disputed(std::span<const float> sum);
  /// Collective, where it is, with `compute` at rest. All workers have it, and none has left the view before.
  AuditFinding decide(ReplicaCompute& compute);

 private:
  using Computed = std::vector<std::pair<int, std::string>>;  // replicas with the texts of their contributions

  std::string computed(int replica) const;
  void wait_for_seconds();
  void share(const Computed& mine);
  AuditFinding finding() const;

  comm::Group& group_;
  const graph::Parameters& network_;
  const std::vector<int>& owned_;
  const AnyReplica& again_;
  const bool is_due_;
  std::vector<int> mine_;                                 // to be computed a second time here
  std::vector<std::string> firsts_;                       // of the own replicas, each written by its task
  std::vector<std::string> seconds_;                      // of mine_
  std::vector<int> disputed_;                             // replicas, some of them at most
  std::vector<Saying> sums_;                              // of the sum, a rank each
  std::map<int, std::vector<Saying>> sayings_;            // by disputed replica
  std::map<int, std::map<uint64_t, std::string>> texts_;  // of its digests
  std::atomic<bool> given_up_ = false;
  std::mutex mutex_;  // of what follows
  std::condition_variable done_;
  size_t open_ = 0;
  std::exception_ptr failure_;
};

}  // namespace linac::train
