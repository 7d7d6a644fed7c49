#include "linac/train/comm/sum_levels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <random>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/replica_sum.h"
#include "linac/train/comm/test_in_process_group.h"

namespace linac::comm {
namespace {

using Buffers = std::vector<std::vector<float>>;
using std::literals::chrono_literals::operator""s;

std::vector<ReplicaRange> even_ranges(int members, int replicas) {
  View view;
  view.members.resize(static_cast<size_t>(members));
  std::vector<ReplicaRange> ranges;
  for (int rank = 0; rank < members; ++rank) ranges.push_back(replicas_of(view, rank, replicas));
  return ranges;
}

std::vector<SumLevel> by_rule(int members, int replicas) {
  return sum_levels_by_rule(even_ranges(members, replicas), replicas);
}

int largest_group(const SumLevel& level) {
  int largest = 0;
  for (int group = 0; group < level.groups(); ++group) largest = std::max(largest, level.size_of(group));
  return largest;
}

TEST(SumLevels, FewMembersHaveOneAndManyHaveSmallGroups) {
  EXPECT_EQ(by_rule(1, 1).size(), 1U);
  EXPECT_EQ(by_rule(32, 32).size(), 1U);
  for (const int members : {33, 40, 48, 63, 64, 100, 127, 128, 250, 511, 512, 513, 1000, 1024}) {
    const auto levels = by_rule(members, members);
    EXPECT_EQ(levels.size(), members <= 144 ? 2U : 3U) << members;
    EXPECT_EQ(levels.back().groups(), 1);
    int peers = 0;
    for (const SumLevel& level : levels) {
      peers += largest_group(level) - 1;
      double load = 0;
      for (int group = 0; group < level.groups(); ++group) {
        const int size = level.size_of(group), held = (level.parts + size - 1) / size;
        load = std::max(load, static_cast<double>(size) * held / level.parts);
      }
      EXPECT_LE(load, 1.34) << members;
    }
    // Each gets two messages a sum.
    EXPECT_LE(2 * peers, (members < 250 ? 5 : 4) * std::sqrt(members)) << members;
  }
}

TEST(SumLevels, GroupsAreCutWhereTheTreeIs) {
  const auto levels = by_rule(512, 512);
  for (const SumLevel& level : levels) {
    EXPECT_EQ(level.parts, 8);
    for (const auto& roots : level.roots) EXPECT_EQ(roots.size(), 1U);
  }
  // One is lost and its replica goes to rank 0: the others' ranges stay where they were.
  for (const auto& some : {by_rule(511, 512), by_rule(48, 48), by_rule(128, 256)}) {
    for (const auto& roots : some[1].roots) EXPECT_EQ(roots.size(), 1U);
  }
  EXPECT_EQ(subtrees_in({3, 9}, 16).size(), 3U);  // [3, 4), [4, 8), [8, 9)
  EXPECT_TRUE(subtrees_in({3, 3}, 16).empty());
}

TEST(SumLevels, EveryPartHasOneHolderInEachGroup) {
  for (int size = 1; size <= 12; ++size) {
    for (int parts = 1; parts <= 14; ++parts) {
      int next = 0;
      for (int member = 0; member < size; ++member) {
        EXPECT_EQ(first_part_of(member, parts, size), next);
        while (next < parts && holder_of(next, parts, size) == member) ++next;
      }
      EXPECT_EQ(next, parts);
      EXPECT_EQ(first_part_of(size, parts, size), parts);
    }
  }
}

// Any other order of addition shows in the bits.
Buffers random_buffers(int replicas, size_t size) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> mantissa(-1, 1);
  std::uniform_int_distribution<int> exponent(-20, 20);
  Buffers buffers(static_cast<size_t>(replicas), std::vector<float>(size));
  for (auto& buffer : buffers) {
    for (float& value : buffer) value = std::ldexp(mantissa(random), exponent(random));
  }
  return buffers;
}

std::vector<float> reference(const Buffers& buffers, Exchange exchange) {
  const std::vector<std::span<const float>> views(buffers.begin(), buffers.end());
  std::vector<float> sum(buffers[0].size());
  tree_sum(views, sum, exchange);
  return sum;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](float x, float y) { return std::bit_cast<uint32_t>(x) == std::bit_cast<uint32_t>(y); });
}

struct Shape {
  int members, replicas;
  std::vector<int> groups, shares{};
};

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  out << shape.members << " members, " << shape.replicas << " replicas, groups";
  for (const int count : shape.groups) out << " " << count;
  for (const int share : shape.shares) out << (&share == shape.shares.data() ? ", shares " : " ") << share;
  return out;
}

struct Sums {
  Buffers results;
  int64_t bytes = 0, messages = 0;  // of the member with most
};

Sums sum_up(const Shape& shape, const Buffers& buffers, Exchange exchange, size_t part_floats, size_t chunk_floats) {
  auto groups = make_in_process_groups(shape.members, 60s, shape.shares);
  Sums sums{.results = Buffers(static_cast<size_t>(shape.members), std::vector<float>(buffers[0].size()))};
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < shape.members; ++rank) {
      threads.emplace_back([&, rank] {
        Group& group = *groups[static_cast<size_t>(rank)];
        Buffers mine;
        for (const int replica : owned_replicas(shape.replicas, group.view(), rank))
          mine.push_back(buffers[static_cast<size_t>(replica)]);
        const std::vector<std::span<float>> views(mine.begin(), mine.end());
        ReplicaSum sum(group, shape.replicas, {shape.groups, chunk_floats, part_floats});
        sum.reduce(views, sums.results[static_cast<size_t>(rank)], exchange);
      });
    }
  }
  for (const auto& group : groups) {
    sums.bytes = std::max(sums.bytes, group->traffic().bytes);
    sums.messages = std::max(sums.messages, group->traffic().messages);
  }
  return sums;
}

void expect_tree_sum(const Shape& shape, size_t part_floats) {
  constexpr size_t kFloats = 211, kChunk = 150;
  const Buffers buffers = random_buffers(shape.replicas, kFloats);
  for (const Exchange exchange : {Exchange::kFloat, Exchange::kBfloat16}) {
    const auto expected = reference(buffers, exchange);
    const Sums sums = sum_up(shape, buffers, exchange, part_floats, kChunk);
    for (const auto& result : sums.results) ASSERT_TRUE(same_bits(result, expected)) << shape;
  }
}

// All ways to form two and three levels.
std::vector<std::vector<int>> all_groups(int members) {
  std::vector<std::vector<int>> all{{}};
  for (int first = 1; first < members; ++first) {
    all.push_back({first});
    for (int second = 1; second < first; ++second) all.push_back({first, second});
  }
  return all;
}

TEST(SumInLevels, TheBitsOfTheTreeWhateverTheLevels) {
  for (int members = 2; members <= 7; ++members) {
    for (const int replicas : {1, 2, 3, 5, 7, 8, 13}) {
      for (const auto& groups : all_groups(members)) {
        ASSERT_NO_FATAL_FAILURE(expect_tree_sum({members, replicas, groups}, 8));
      }
    }
  }
}

TEST(SumInLevels, TheBitsOfTheTreeForAnyShares) {
  std::mt19937 random(11);
  const auto pick = [&](int low, int high) { return std::uniform_int_distribution<int>(low, high)(random); };
  for (int i = 0; i < 60; ++i) {
    Shape shape{.members = pick(2, 40), .replicas = 0, .groups = {}};
    for (int left = shape.members; left > 1 && shape.groups.size() < 3;) {
      left = pick(1, left - 1);
      shape.groups.push_back(left);
    }
    for (int rank = 0; rank < shape.members; ++rank) {
      shape.shares.push_back(pick(0, 3) == 0 ? 0 : pick(0, 5));
      shape.replicas += shape.shares.back();
    }
    if (shape.replicas == 0) continue;
    if (pick(0, 2) == 0) {
      shape.shares.clear();
      shape.replicas = pick(1, 2 * shape.members);
    }
    ASSERT_NO_FATAL_FAILURE(expect_tree_sum(shape, static_cast<size_t>(pick(1, 40))));
  }
}

TEST(SumInLevels, FewMessagesAndTheLeastBytes) {
  constexpr int kMembers = 48;
  constexpr size_t kFloats = size_t{16} * 4096;
  const Shape shape{kMembers, kMembers, {6}};
  const Buffers buffers = random_buffers(kMembers, kFloats);
  const Sums sums = sum_up(shape, buffers, Exchange::kFloat, 256, kFloats);
  EXPECT_TRUE(same_bits(sums.results.back(), reference(buffers, Exchange::kFloat)));
  EXPECT_LE(sums.messages, 4 * std::sqrt(kMembers));
  EXPECT_LE(static_cast<double>(sums.bytes), 1.05 * 2 * (kMembers - 1) / kMembers * 4 * kFloats);
}

}  // namespace
}  // namespace linac::comm
