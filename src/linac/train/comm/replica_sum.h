#pragma once
// The sum over the replicas of a job, in an order that the replicas fix and the workers do not: one binary tree over
// replica numbers, where the node [a, b) is the sum of [a, m) and [m, b), m = a + the largest power of two below b - a.
// Floating-point addition is not associative, so only a fixed order gives the same bits on 1, 2 or 8 workers.
//
// Where a node is added up is free. A worker adds the subtrees that it owns; their roots are cut into as many parts as
// there are workers, worker p gets part p of every root, adds the rest of the tree for it and gives the result to all.
// So with N workers of equal shares each sends and receives 2 (N - 1) / N of the data, the least possible (Patarasu and
// Yuan, J. Parallel Distrib. Comput. 69, 2009). Up to some tens of workers do that in two rounds, more of them in
// levels (sum_levels.h), so that none needs links and messages for all others.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "linac/train/comm/exchange.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/parcels.h"
#include "linac/train/comm/sum_levels.h"

namespace linac::comm {

/// The replicas that a rank carries (view.h). Ranks beyond the number of replicas carry none.
std::vector<int> owned_replicas(int replicas, const View& view, int rank);

/// How the sum is divided: the same on all ranks. The bits do not depend on it.
struct SumCut {
  std::optional<std::vector<int>> groups{};  // of each level but the last, see make_sum_levels(); else by the rule
  size_t chunk_floats = 0;                   // on their way at a time; 0: by the rule
  size_t part_floats = size_t{1} << 12;      // the least that is worth a message of its own
};

/// Uses `group`, which must outlive it, from the calling thread only.
class ReplicaSum {
 public:
  ReplicaSum(Group& group, int replicas, SumCut cut = {});
  /// Where the ranks carry other replicas than the view says: `ranges` ascend without a gap, those of who carries none
  /// lie at the end.
  ReplicaSum(Group& group, const std::vector<ReplicaRange>& ranges, int replicas, SumCut cut = {});

  const std::vector<SumLevel>& levels() const { return levels_; }

  /// A collective: on every rank `result` becomes the sum over all replicas. `owned_buffers[i]` belongs to replica
  /// owned_replicas(...)[i] and is overwritten (partial sums are kept there). All buffers and `result`, on all ranks,
  /// have the same size; `result` overlaps none of them. Error(kPeerLost) as for Group.
  void reduce(std::span<const std::span<float>> owned_buffers, std::span<float> result,
              Exchange exchange = Exchange::kFloat);

  /// The largest subtrees of the tree that this rank carries, in their order.
  const std::vector<ReplicaRange>& own_roots() const { return levels_[0].roots[static_cast<size_t>(group_.rank())]; }
  /// The same as reduce() where these are added up already (train/devices/device_sum.h): a buffer a root, overwritten.
  void reduce_roots(std::span<const std::span<float>> roots, std::span<float> result,
                    Exchange exchange = Exchange::kFloat);

 private:
  struct Slice {
    size_t begin, size;  // of a chunk of the data
  };
  /// A slice that this worker adds up in a level, with others.
  struct Task {
    Slice slice;
    std::vector<int> ranks;               // of the level's members
    std::vector<std::span<float>> roots;  // what this worker has of it: the roots of its own member
  };
  /// This worker's place in a level.
  struct Place {
    int member, group, begin, size;  // the group: the members [begin, begin + size)
  };

  void reduce_chunk(std::span<const std::span<float>> roots, std::span<float> result);
  void add_owned(std::span<const std::span<float>> buffers);
  void add_owned(int begin, int end, std::span<const std::span<float>> buffers);
  std::vector<Task> collect(size_t number, const std::vector<Task>& tasks);
  std::vector<std::vector<std::span<float>>> receive_roots(size_t number, const std::vector<Task>& tasks);
  std::span<float> add_roots(const SumLevel& level, int begin, int end,
                             std::span<const std::span<float>> at_root) const;
  void hand_on(const SumLevel& level, const Place& place, const Task& task, std::span<const std::span<float>> sums,
               std::vector<Task>& next) const;
  void distribute(size_t number, const std::vector<Task>& tasks, std::span<float> result);

  int parts_of(const SumLevel& level, const Slice& slice) const;
  static Slice part_of(const Slice& slice, int parts, int first, int end);
  Slice held_by(const SumLevel& level, const Place& place, const Slice& slice, int member) const;

  Group& group_;
  int replicas_;
  SumCut cut_;
  Exchange exchange_ = Exchange::kFloat;  // of the sum under way
  int first_owned_ = 0;
  int owned_end_ = 0;
  std::vector<SumLevel> levels_;
  std::vector<Place> places_;                 // by level
  std::vector<std::vector<float>> received_;  // by level: the others' roots
  Parcels parcels_;
};

/// The same sum in one process, buffer i being replica i: what reduce() must equal bit for bit. At least one buffer.
void tree_sum(std::span<const std::span<const float>> buffers, std::span<float> result,
              Exchange exchange = Exchange::kFloat);

}  // namespace linac::comm
