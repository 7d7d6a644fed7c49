#include "linac/train/comm/sum_levels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

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

// With p of P parts in a group of n, n p / P of the data come to a member: of the busiest one.
double load_of(const SumLevel& level, int parts) {
  double load = 0;
  for (int group = 0; group < level.groups(); ++group) {
    const int size = level.size_of(group), held = (parts + size - 1) / size;
    load = std::max(load, static_cast<double>(size) * held / parts);
  }
  return load;
}

// With which the busiest member has least to do; of several the largest number, whose messages are shorter.
int best_parts(const SumLevel& level) {
  int largest = 0;
  for (int group = 0; group < level.groups(); ++group) largest = std::max(largest, level.size_of(group));
  int best = 1;
  for (int parts = 2; parts <= largest; ++parts) {
    if (load_of(level, parts) <= load_of(level, best)) best = parts;
  }
  return best;
}

ReplicaRange range_of(const SumLevel& level, int group) {
  const auto first = static_cast<size_t>(level.begins[static_cast<size_t>(group)]);
  const auto last = static_cast<size_t>(level.begins[static_cast<size_t>(group) + 1]) - 1;
  return {level.ranges[first].begin, level.ranges[last].end};
}

std::vector<ReplicaRange> ranges_of_groups(const SumLevel& level) {
  std::vector<ReplicaRange> ranges;
  for (int group = 0; group < level.groups(); ++group) ranges.push_back(range_of(level, group));
  return ranges;
}

SumLevel make_level(const std::vector<ReplicaRange>& ranges, int replicas, int groups) {
  const int members = static_cast<int>(ranges.size());
  LINAC_CHECK(groups >= 1 && (groups < members || members == 1));
  SumLevel level{.ranges = ranges, .roots = {}, .begins = divide(ranges, groups)};
  for (const ReplicaRange& range : ranges) level.roots.push_back(subtrees_in(range, replicas));
  level.parts = best_parts(level);
  return level;
}

// In sizes of the data: what travels both ways, and on to the next level the further sums of its groups, a part of each
// by every member; and peers here and in the `further` levels, each worth a hundredth.
double cost_of(const SumLevel& level, int replicas, int further) {
  double sums = 0, peers = 0;
  for (const ReplicaRange& range : ranges_of_groups(level))
    sums += std::max(0.0, static_cast<double>(subtrees_in(range, replicas).size()) - 1);
  for (int group = 0; group < level.groups(); ++group) peers = std::max(peers, level.size_of(group) - 1.0);
  if (further > 0) peers += further * (std::pow(level.groups(), 1.0 / further) - 1);
  return 2 * load_of(level, level.parts) + sums / static_cast<double>(level.ranges.size()) + peers / 100;
}

// About as many groups as wanted.
SumLevel best_level(const std::vector<ReplicaRange>& ranges, int replicas, int wanted, int further) {
  SumLevel best = make_level(ranges, replicas, wanted);
  double least = cost_of(best, replicas, further);
  for (int away = 1; away <= wanted / 2; ++away) {
    for (const int groups : {wanted - away, wanted + away}) {
      if (groups >= static_cast<int>(ranges.size())) continue;
      SumLevel level = make_level(ranges, replicas, groups);
      const double cost = cost_of(level, replicas, further);
      if (cost >= least) continue;
      least = cost;
      best = std::move(level);
    }
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

int SumLevel::group_of(int member) const {
  return static_cast<int>(std::upper_bound(begins.begin(), begins.end(), member) - begins.begin()) - 1;
}

std::vector<SumLevel> make_sum_levels(const std::vector<ReplicaRange>& ranges, int replicas,
                                      const std::vector<int>& groups) {
  std::vector<SumLevel> levels;
  for (size_t number = 0; number <= groups.size(); ++number) {
    const std::vector<ReplicaRange> members = levels.empty() ? ranges : ranges_of_groups(levels.back());
    levels.push_back(make_level(members, replicas, number < groups.size() ? groups[number] : 1));
  }
  return levels;
}

std::vector<SumLevel> sum_levels_by_rule(const std::vector<ReplicaRange>& ranges, int replicas) {
  const auto members = static_cast<double>(ranges.size());
  int count = 1;
  while (members > kOneLevelMembers && std::pow(kGroupMembers, count) < members) ++count;
  std::vector<SumLevel> levels;
  for (int left = count; left > 0; --left) {
    const std::vector<ReplicaRange> here = levels.empty() ? ranges : ranges_of_groups(levels.back());
    const auto size = static_cast<double>(here.size());
    const double groups = std::pow(size, (left - 1.0) / left);
    levels.push_back(best_level(here, replicas, static_cast<int>(std::lround(groups)), left - 1));
  }
  return levels;
}

}  // namespace linac::comm
