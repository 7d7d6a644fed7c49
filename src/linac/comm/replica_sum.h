#pragma once
// The sum over the replicas of a job, in an order that the replicas fix and the workers do not: one binary tree over
// replica numbers, where the node [a, b) is the sum of [a, m) and [m, b), m = a + the largest power of two below b - a.
// Floating-point addition is not associative, so only a fixed order gives the same bits on 1, 2 or 8 workers.
//
// Where a node is added up is free. A worker adds the subtrees that it owns; their roots are cut into as many parts as
// there are workers, worker p gets part p of every root, adds the rest of the tree for it and gives the result to all.
// So with N workers of equal shares each sends and receives 2 (N - 1) / N of the data, the least possible (Patarasu and
// Yuan, J. Parallel Distrib. Comput. 69, 2009), in two rounds, whatever N is.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/comm/group.h"

namespace linac::comm {

/// How the nodes of the tree are kept, and travel: as they are, or every one of them rounded to bfloat16, which halves
/// what travels. The same bits on any number of workers in both cases: the rounding belongs to the tree.
enum class Exchange { kFloat, kBfloat16 };

/// The replicas that a rank carries (view.h). Ranks beyond the number of replicas carry none.
std::vector<int> owned_replicas(int replicas, const View& view, int rank);

/// Uses `group`, which must outlive it, from the calling thread only.
class ReplicaSum {
 public:
  ReplicaSum(Group& group, int replicas);

  /// A collective: on every rank `result` becomes the sum over all replicas. `owned_buffers[i]` belongs to replica
  /// owned_replicas(...)[i] and is overwritten (partial sums are kept there). All buffers and `result`, on all ranks,
  /// have the same size; `result` overlaps none of them. Error(kPeerLost) as for Group.
  void reduce(std::span<const std::span<float>> owned_buffers, std::span<float> result,
              Exchange exchange = Exchange::kFloat);

 private:
  /// A largest subtree that one worker owns: replicas [begin, end).
  struct Root {
    int begin, end, owner;
  };
  /// Where worker p adds up: a part of the data.
  struct Part {
    size_t begin, size;
  };

  struct Sent {
    int to;
    std::span<const float> data;
  };
  struct Due {
    int from;
    std::span<float> data;
  };

  void find_roots(int begin, int end);
  void reduce_chunk(std::span<const std::span<float>> buffers, std::span<float> result);
  void add_owned(int begin, int end, std::span<const std::span<float>> buffers);
  void collect(const std::vector<Part>& parts, std::span<const std::span<float>> buffers);
  std::span<float> add_roots(int begin, int end, std::span<const std::span<float>> at_root);
  void distribute(const std::vector<Part>& parts, std::span<float> result);
  void travel(std::span<const Sent> sends, std::span<const Due> receives, int tag);

  Group& group_;
  int replicas_;
  Exchange exchange_ = Exchange::kFloat;  // of the sum under way
  int first_owned_ = 0;
  int owned_end_ = 0;
  std::vector<int> owner_;
  std::vector<Root> roots_;      // in the order of the replicas
  std::vector<float> packed_;    // own roots on their way, if there are several
  std::vector<float> received_;  // this worker's part of the others' roots
  std::vector<uint16_t> narrow_out_, narrow_in_;
};

/// The same sum in one process, buffer i being replica i: what reduce() must equal bit for bit. At least one buffer.
void tree_sum(std::span<const std::span<const float>> buffers, std::span<float> result,
              Exchange exchange = Exchange::kFloat);

}  // namespace linac::comm
