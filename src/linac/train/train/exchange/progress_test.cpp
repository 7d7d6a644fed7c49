#include "linac/train/train/exchange/progress.h"

#include <gtest/gtest.h>

#include <thread>

#include "linac/base/base/error.h"

namespace linac::train {
namespace {

graph::Layout layout_of(std::initializer_list<int64_t> sizes) {
  graph::Layout layout;
  int i = 0;
  for (const int64_t size : sizes) layout.add(std::to_string(i++), {size});
  return layout;
}

TEST(Buckets, CoverTheMessageFromItsEndToItsBeginning) {
  for (const auto& layout : {layout_of({5, 300'000, 17, 100'000, 100'000, 100'000, 3}), layout_of({7}), layout_of({}),
                             layout_of({1'000'000, 1'000'000})}) {
    const auto buckets = make_buckets(layout, 11);
    auto end = static_cast<size_t>(layout.total);
    for (size_t i = 0; i + 1 < buckets.size(); ++i) {
      EXPECT_EQ(buckets[i].begin + buckets[i].size, end);
      EXPECT_GT(buckets[i].size, 0);
      end = buckets[i].begin;
    }
    EXPECT_EQ(end, 0);
    EXPECT_EQ(buckets.back().begin, static_cast<size_t>(layout.total));
    EXPECT_EQ(buckets.back().size, 11);
  }
  EXPECT_EQ(make_buckets(layout_of({5, 300'000, 17, 100'000, 100'000, 100'000, 3}), 1).size(), 3 + 1);
}

void nothing(size_t) {}
void rest() {}

TEST(ReplicaProgress, ABucketIsThereWhenAllReplicasHaveToldAllOfIt) {
  const auto layout = layout_of({300'000, 10, 300'000});
  const auto buckets = make_buckets(layout, 1);
  ASSERT_EQ(buckets.size(), 3);
  ReplicaProgress progress(layout, buckets, 2);
  std::vector<size_t> waited_for;
  int rests = 0;
  std::jthread replicas([&] {
    for (const size_t slot : {2, 1, 0}) {
      for (const size_t replica : {1, 0})
        progress.told(replica, layout.slots[slot].offset, static_cast<size_t>(layout.slots[slot].size));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    EXPECT_FALSE(progress.computed());
    progress.finished(1);
    progress.finished(0);
  });
  EXPECT_TRUE(progress.wait_for(0, nothing, rest));
  EXPECT_TRUE(progress.wait_for(1, nothing, rest));
  EXPECT_TRUE(progress.wait_for(
      2, [&](size_t replica) { waited_for.push_back(replica); }, [&] { ++rests; }));
  EXPECT_TRUE(progress.computed());
  ASSERT_FALSE(waited_for.empty());
  EXPECT_EQ(waited_for.front(), 0);
  EXPECT_LE(waited_for.size(), 3) << "not without news";
  EXPECT_GE(rests, 2);
}

TEST(ReplicaProgress, WhoTellsNothingIsReadyAtTheEnd) {
  const auto layout = layout_of({300'000, 300'000});
  const auto buckets = make_buckets(layout, 1);
  ReplicaProgress progress(layout, buckets, 1);
  progress.finished(0);
  for (size_t i = 0; i < buckets.size(); ++i) EXPECT_TRUE(progress.wait_for(i, nothing, rest));
  EXPECT_TRUE(ReplicaProgress(layout, buckets, 0).wait_for(0, nothing, rest))
      << "a worker without replicas waits for nothing";
}

TEST(ReplicaProgress, AFailedReplicaEndsTheWaitAndABrokenOffUpdateTheReplicas) {
  const auto layout = layout_of({10});
  const auto buckets = make_buckets(layout, 1);
  ReplicaProgress progress(layout, buckets, 2);
  progress.failed(1);
  EXPECT_FALSE(progress.wait_for(0, nothing, rest));
  EXPECT_FALSE(progress.computed());
  progress.break_off();
  EXPECT_THROW(progress.told(0, 0, 10), Error);
}

}  // namespace
}  // namespace linac::train
