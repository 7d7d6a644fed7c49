#include "linac/comm/sum_levels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "linac/base/error.h"

namespace linac::comm {
namespace {

// Up to here all exchange with all. Two rounds have the least latency, and so few messages cost little beside it.
constexpr int kOneLevelMembers = 32;
// Beyond, the fewest levels whose groups are no larger: a message costs its host some 10 us, so 12 peers a level cost
// some latencies of a network. 512 members: 8 x 8 x 8.
constexpr int kGroupMembers = 12;

void find_subtrees(int begin, int end, ReplicaRange range, std::vector<ReplicaRange>& found) {
  if (end <= range.begin || range.end <= begin) return;
  if (range.begin <= begin && end <= range.end) {
    found.push_back({begin, end});
    return;
  }
  const int middle = middle_of(begin, end);
  find_subtrees(begin, middle, range, found);
  find_subtrees(middle, end, range, found);
}

// How large the subtrees are that begin at a replica.
int alignment(int replica) {
  return replica == 0 ? std::numeric_limits<int>::digits : std::countr_zero(static_cast<unsigned>(replica));
}

// As even as can be, but within a quarter of a group's size where the tree is cut best.
std::vector<int> divide(const std::vector<ReplicaRange>& ranges, int groups) {
  const int members = static_cast<int>(ranges.size());
  const int slack = members / groups / 4;
  std::vector<int> begins{0};
  for (int group = 1; group < groups; ++group) {
    const int even = static_cast<int>(int64_t{group} * members / groups);
    const int first = std::max(begins.back() + 1, even - slack),
              last = std::min(members - groups + group, even + slack);
    int best = std::clamp(even, first, last);
    for (int begin = first; begin <= last; ++begin) {
      const int gain =
          alignment(ranges[static_cast<size_t>(begin)].begin) - alignment(ranges[static_cast<size_t>(best)].begin);
      if (gain > 0 || (gain == 0 && std::abs(begin - even) < std::abs(best - even))) best = begin;
    }
    begins.push_back(best);
  }
  begins.push_back(members);
  return begins;
}

// The number of parts with which the busiest member has least to do: with p of P parts, in a group of n, n p / P of the
// data come to it. Of several the largest, whose messages are shorter.
int best_parts(const SumLevel& level) {
  int largest = 0;
  for (int group = 0; group < level.groups(); ++group) largest = std::max(largest, level.size_of(group));
  int best = 1;
  double least = std::numeric_limits<double>::infinity();
  for (int parts = 1; parts <= largest; ++parts) {
    double load = 0;
    for (int group = 0; group < level.groups(); ++group) {
      const int size = level.size_of(group), held = (parts + size - 1) / size;
      load = std::max(load, static_cast<double>(size) * held / parts);
    }
    if (load > least) continue;
    least = load;
    best = parts;
  }
  return best;
}

}  // namespace

int middle_of(int begin, int end) {
  return begin + static_cast<int>(std::bit_floor(static_cast<unsigned>(end - begin - 1)));
}

std::vector<ReplicaRange> subtrees_in(ReplicaRange range, int replicas) {
  std::vector<ReplicaRange> found;
  if (range.begin < range.end) find_subtrees(0, replicas, range, found);
  return found;
}

std::vector<int> groups_by_rule(int members) {
  std::vector<int> groups;
  if (members <= kOneLevelMembers) return groups;
  int levels = 2;
  while (std::pow(kGroupMembers, levels) < members) ++levels;
  for (int left = levels - 1; left > 0; --left)
    groups.push_back(static_cast<int>(std::lround(std::pow(members, static_cast<double>(left) / levels))));
  return groups;
}

int SumLevel::group_of(int member) const {
  return static_cast<int>(std::upper_bound(begins.begin(), begins.end(), member) - begins.begin()) - 1;
}

std::vector<SumLevel> make_sum_levels(std::vector<ReplicaRange> ranges, int replicas, const std::vector<int>& groups) {
  std::vector<SumLevel> levels;
  for (size_t number = 0; number <= groups.size(); ++number) {
    const int members = static_cast<int>(ranges.size()), count = number < groups.size() ? groups[number] : 1;
    LINAC_CHECK(count >= 1 && (count < members || members == 1));
    SumLevel& level = levels.emplace_back();
    level.begins = divide(ranges, count);
    level.ranges = std::move(ranges);
    for (const ReplicaRange& range : level.ranges) level.roots.push_back(subtrees_in(range, replicas));
    level.parts = best_parts(level);
    ranges.clear();
    for (int group = 0; group < level.groups(); ++group) {
      const auto first = static_cast<size_t>(level.begins[static_cast<size_t>(group)]);
      const auto last = static_cast<size_t>(level.begins[static_cast<size_t>(group) + 1]) - 1;
      ranges.push_back({level.ranges[first].begin, level.ranges[last].end});
    }
  }
  return levels;
}

}  // namespace linac::comm
