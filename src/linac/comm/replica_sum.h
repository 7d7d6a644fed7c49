#pragma once
// The sum over the replicas of a job, in an order that the replicas fix and the workers do not: one binary tree over
// replica numbers, where the node [a, b) is the sum of [a, m) and [m, b), m = a + the largest power of two below b - a.
// Floating-point addition is not associative, so only a fixed order gives the same bits on 1, 2 or 8 workers. A worker
// adds the subtrees it owns; of the rest only the roots travel.

#include <span>
#include <vector>

#include "linac/comm/group.h"

namespace linac::comm {

/// The replicas that a rank carries (view.h). Ranks beyond the number of replicas carry none.
std::vector<int> owned_replicas(int replicas, const View& view, int rank);

/// Uses `group`, which must outlive it, from the calling thread only.
class ReplicaSum {
 public:
  ReplicaSum(Group& group, int replicas);

  /// A collective: on every rank `result` becomes the sum over all replicas. `owned_buffers[i]` belongs to replica
  /// owned_replicas(...)[i] and is overwritten (partial sums are kept there). All buffers and `result`, on all ranks,
  /// have the same size; `result` overlaps none of them. Error(kPeerLost) as for Group.
  void reduce(std::span<const std::span<float>> owned_buffers, std::span<float> result);

 private:
  int owner(int replica) const { return owner_[replica]; }
  void reduce_node(int begin, int end, std::span<const std::span<float>> buffers, size_t offset, size_t count);

  Group& group_;
  int replicas_;
  int first_owned_ = 0;
  int owned_end_ = 0;
  std::vector<int> owner_;
  std::vector<float> received_;
};

/// The same sum in one process, buffer i being replica i: what reduce() must equal bit for bit. At least one buffer.
void tree_sum(std::span<const std::span<const float>> buffers, std::span<float> result);

}  // namespace linac::comm
