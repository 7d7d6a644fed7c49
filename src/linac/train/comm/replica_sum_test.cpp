#include "linac/train/comm/replica_sum.h"

#include <gtest/gtest.h>

#include <thread>

#include "linac/base/base/bfloat16.h"
#include "linac/train/comm/test_buffers.h"
#include "linac/train/comm/test_in_process_group.h"

namespace linac::comm {
namespace {

std::vector<int> owned(int replicas, int rank, int world_size) {
  View view;
  view.members.resize(static_cast<size_t>(world_size));
  return owned_replicas(replicas, view, rank);
}

std::vector<float> reference(const Buffers& buffers, Exchange exchange = Exchange::kFloat) {
  std::vector<std::span<const float>> views(buffers.begin(), buffers.end());
  std::vector<float> sum(buffers[0].size());
  tree_sum(views, sum, exchange);
  return sum;
}

// The result of every rank.
Buffers reduce_with(int world_size, const Buffers& buffers, Exchange exchange = Exchange::kFloat) {
  const int replicas = static_cast<int>(buffers.size());
  auto groups = make_in_process_groups(world_size, std::chrono::seconds(10));
  Buffers results(world_size, std::vector<float>(buffers[0].size()));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world_size; ++rank) {
      threads.emplace_back([&, rank] {
        Buffers mine;
        for (const int replica : owned(replicas, rank, world_size)) mine.push_back(buffers[replica]);
        const std::vector<std::span<float>> views(mine.begin(), mine.end());
        ReplicaSum(*groups[rank], replicas).reduce(views, results[rank], exchange);
      });
    }
  }
  return results;
}

TEST(ReplicaSum, OwnedReplicasAreContiguousAndEven) {
  EXPECT_EQ(owned(8, 0, 3), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(owned(8, 1, 3), (std::vector<int>{3, 4, 5}));
  EXPECT_EQ(owned(8, 2, 3), (std::vector<int>{6, 7}));
  EXPECT_TRUE(owned(2, 2, 3).empty());
  for (int replicas = 1; replicas <= 12; ++replicas) {
    for (int world = 1; world <= 14; ++world) {
      std::vector<int> all;
      for (int rank = 0; rank < world; ++rank) {
        const auto part = owned(replicas, rank, world);
        EXPECT_GE(static_cast<int>(part.size()), replicas / world);
        EXPECT_LE(static_cast<int>(part.size()), (replicas + world - 1) / world);
        all.insert(all.end(), part.begin(), part.end());
      }
      EXPECT_EQ(all, owned(replicas, 0, 1));
    }
  }
}

TEST(ReplicaSum, TheTreeIsTheDocumentedOne) {
  const float big = 1e8f;  // adding 1 to it is lost: each grouping has its own result
  const Buffers five = {{1}, {big}, {-big}, {1}, {1}};
  // [0,5) = [0,4) + [4,5); [0,4) = [0,2) + [2,4)
  const float expected = (((1 + big) + (-big + 1)) + 1);
  EXPECT_EQ(bits(reference(five)), bits(std::vector<float>{expected}));
  const Buffers three = {{big}, {-big}, {1}};
  EXPECT_EQ(reference(three)[0], 1.0f);
}

TEST(ReplicaSum, TheTestDataTellsOrdersApart) {
  const auto buffers = random_buffers(8, 1000);
  std::vector<float> in_sequence(1000, 0.0f);
  for (const auto& buffer : buffers) {
    for (size_t i = 0; i < buffer.size(); ++i) in_sequence[i] += buffer[i];
  }
  EXPECT_NE(bits(in_sequence), bits(reference(buffers)));
}

TEST(ReplicaSum, TheSameBitsOnAnyNumberOfWorkers) {
  for (int replicas = 1; replicas <= 9; ++replicas) {
    const auto buffers = random_buffers(replicas, 1009);
    const auto expected = bits(reference(buffers));
    for (int world_size = 1; world_size <= replicas + 1; ++world_size) {  // one more: an idle worker
      const auto results = reduce_with(world_size, buffers);
      for (int rank = 0; rank < world_size; ++rank) {
        ASSERT_EQ(bits(results[rank]), expected) << replicas << " replicas, rank " << rank << " of " << world_size;
      }
    }
  }
}

TEST(ReplicaSum, RoundedSumsToo) {
  for (int replicas = 1; replicas <= 9; ++replicas) {
    const auto buffers = random_buffers(replicas, 20'011);
    const auto sum = reference(buffers, Exchange::kBfloat16);
    for (const float value : sum) ASSERT_EQ(value, from_bfloat16(to_bfloat16(value)));
    ASSERT_NE(bits(sum), bits(reference(buffers)));
    for (int world_size = 1; world_size <= replicas + 1; ++world_size) {
      for (const auto& result : reduce_with(world_size, buffers, Exchange::kBfloat16))
        ASSERT_EQ(bits(result), bits(sum)) << replicas << " replicas on " << world_size;
    }
  }
}

TEST(ReplicaSum, BfloatsHalveWhatTravels) {
  const auto buffers = random_buffers(4, 100'000);
  std::vector<int64_t> bytes;
  for (const Exchange exchange : {Exchange::kFloat, Exchange::kBfloat16}) {
    auto groups = make_in_process_groups(4, std::chrono::seconds(10));
    {
      std::vector<std::jthread> threads;
      for (int rank = 0; rank < 4; ++rank) {
        threads.emplace_back([&, rank] {
          std::vector<float> mine = buffers[rank], result(mine.size());
          const std::span<float> view(mine);
          ReplicaSum(*groups[rank], 4).reduce({&view, 1}, result, exchange);
        });
      }
    }
    for (const auto& group : groups) EXPECT_EQ(group->traffic().bytes, groups[0]->traffic().bytes);
    bytes.push_back(groups[0]->traffic().bytes);
  }
  EXPECT_EQ(bytes[0], 2 * 3 * 100'000) << "2 (N - 1) / N of the 400,000 bytes";
  EXPECT_EQ(bytes[1], bytes[0] / 2);
}

TEST(ReplicaSum, LargeBuffersGoInPieces) {
  const auto buffers = random_buffers(6, 5 * (1 << 20) + 17);
  const auto expected = bits(reference(buffers));
  for (const int world_size : {1, 4}) {
    const auto results = reduce_with(world_size, buffers);
    for (const auto& result : results) ASSERT_TRUE(bits(result) == expected);
  }
}

TEST(ReplicaSum, OnlyRootsTravel) {
  const auto buffers = random_buffers(8, 64);
  auto groups = make_in_process_groups(2, std::chrono::seconds(10));
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < 2; ++rank) {
      threads.emplace_back([&, rank] {
        Buffers mine;
        for (const int replica : owned(8, rank, 2)) mine.push_back(buffers[replica]);
        const std::vector<std::span<float>> views(mine.begin(), mine.end());
        std::vector<float> result(64);
        ReplicaSum(*groups[rank], 8).reduce(views, result);
      });
    }
  }
  EXPECT_EQ(groups[0]->traffic().bytes, 64 * 4);  // the broadcast
  EXPECT_EQ(groups[1]->traffic().bytes, 64 * 4);  // its one root
}

TEST(ReplicaSum, AnEmptySumIsAllowed) {
  const auto results = reduce_with(2, Buffers(3));
  EXPECT_TRUE(results[1].empty());
}

TEST(Deal, FasterWorkersTakeMore) {
  EXPECT_EQ(deal(8, {1, 1, 1, 1}), (std::vector<int>{2, 2, 2, 2}));
  EXPECT_EQ(deal(16, {1, 1, 2, 1}), (std::vector<int>{5, 5, 2, 4}));
  EXPECT_EQ(deal(4, {100, 1, 1}), (std::vector<int>{1, 2, 1}));  // one each, or its pace would never be known again
  EXPECT_EQ(deal(2, {1, 1, 1}), (std::vector<int>{1, 1, 0}));
  EXPECT_EQ(deal_packs(8, 2, {1, 1, 1}), (std::vector<int>{4, 2, 2}));
  EXPECT_EQ(deal_packs(26, 2, {1, 1, 4, 1}), (std::vector<int>{8, 8, 2, 8}));
  EXPECT_EQ(deal_packs(8, 4, {1, 1, 2}), (std::vector<int>{4, 3, 1}));
  EXPECT_EQ(deal_packs(4, 2, {1, 1, 1, 1, 1}), (std::vector<int>{1, 1, 1, 1, 0}));
  EXPECT_EQ(slowest({5, 5, 2, 4}, {1, 1, 2, 1}), 5);
  View view;
  for (const int share : {1, 5, 2}) view.members.push_back({.share = share});
  EXPECT_EQ(owned_replicas(8, view, 1), (std::vector<int>{1, 2, 3, 4, 5}));
  EXPECT_EQ(owned_replicas(9, view, 1), (std::vector<int>{3, 4, 5})) << "shares of another number of replicas";
}

}  // namespace
}  // namespace linac::comm
