#pragma once
// How the sum over replicas (replica_sum.h) is divided among many members: in levels. In the first one neighbours form
// groups; each member of a group gets a part of the data of all, and adds it up as far as the group's replicas go. In
// the next one those who hold the same part, one of each group, form groups again; in the last one there is one group,
// whose members end with the whole sum of a part. The way back is the same in reverse. So N members in L levels of
// about the L-th root of N each need L (N^(1/L) - 1) links a member and twice as many messages, and each still sends 2
// (N - 1) / N of the data.
//
// A group holds a contiguous range of replicas. It is cut where the tree is, as far as that is near: a range that is a
// subtree has one sum, any other has several, which all travel on.
//
// Pure functions of the view's shares, so that all members find the same. Thread-safe.

#include <vector>

#include "linac/train/comm/membership/view.h"

namespace linac::comm {

/// Where the node [begin, end) of the tree splits; it has two replicas or more.
int middle_of(int begin, int end);

/// The largest subtrees of the tree over `replicas` that lie in a range, in their order; none for an empty one.
std::vector<ReplicaRange> subtrees_in(ReplicaRange range, int replicas);

/// The members of a level are numbered by their ranges of replicas, which ascend without a gap.
struct SumLevel {
  std::vector<ReplicaRange> ranges;              // of the members
  std::vector<std::vector<ReplicaRange>> roots;  // of the members: subtrees_in(range)
  std::vector<int> begins;                       // group g: the members [begins[g], begins[g + 1])
  int parts = 1;                                 // into which each group divides the data at most

  int groups() const { return static_cast<int>(begins.size()) - 1; }
  int group_of(int member) const;
  int size_of(int group) const { return begins[static_cast<size_t>(group) + 1] - begins[static_cast<size_t>(group)]; }
};

/// Who of a group of `size` holds part p of `parts`: the parts of each are neighbours.
inline int holder_of(int part, int parts, int size) {
  return part * size / parts;
}
/// The first part that a member of such a group holds, or the next one does.
inline int first_part_of(int member, int parts, int size) {
  return (member * parts + size - 1) / size;
}

/// All levels, by the rule. `ranges`: of the ranks.
std::vector<SumLevel> sum_levels_by_rule(const std::vector<ReplicaRange>& ranges, int replicas);
/// The same with so many groups in each level but the last: descending, each below the number of the level's members.
std::vector<SumLevel> make_sum_levels(const std::vector<ReplicaRange>& ranges, int replicas,
                                      const std::vector<int>& groups);

}  // namespace linac::comm
