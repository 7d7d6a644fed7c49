#include "linac/io/data/order/batch_stream.h"

#include <algorithm>
#include <cmath>

#include "linac/io/data/test_showers.h"
#include "linac/io/data/test_tables.h"

namespace linac::data::testing {
namespace {

using ShowerStream = BatchStream<Dataset>;

class BatchStreamTest : public DataTest {
 protected:
  void SetUp() override {
    DataTest::SetUp();
    write_hdf5(path("a.h5"), columns_of(make_showers(26)));
    set_ = Dataset::open({path("a.h5")}, {}, {});
  }
  // The primary energy tells which event a sample is.
  static int64_t event_of(float energy) { return std::lround(energy * 100 - 10); }
  std::shared_ptr<const Dataset> set_;
};

TEST_F(BatchStreamTest, ReplicasReadTheirSliceOfTheEpochsOrder) {
  ShowerStream stream(set_, {.seed = 7, .batch = 3, .replicas = 2, .owned = {1, 0}, .threads = 2}, {});
  EXPECT_EQ(stream.steps_per_epoch(), 4);
  for (uint32_t epoch = 0; epoch < 3; ++epoch) {
    const std::vector<int64_t> order = epoch_order(7, epoch, 26);
    for (uint32_t step = 0; step < 4; ++step) {
      const ShowerStream::Step got = stream.next();
      EXPECT_EQ(got.position, (Position{epoch, step}));
      ASSERT_EQ(got.replicas.size(), 2U);
      for (size_t i = 0; i < 2; ++i) {
        const size_t replica = 1 - i;
        ASSERT_EQ(got.replicas[i].events, 3);
        for (size_t k = 0; k < 3; ++k) {
          EXPECT_EQ(event_of(got.replicas[i].energy[k]), order[(step * 2 + replica) * 3 + k]);
        }
      }
    }
  }
}

TEST_F(BatchStreamTest, WorkersThreadsAndRestartsChangeNothing) {
  ShowerStream whole(set_, {.seed = 3, .batch = 2, .replicas = 4, .owned = {0, 1, 2, 3}}, {});
  std::vector<std::unique_ptr<ShowerStream>> workers;
  for (int replica = 0; replica < 4; ++replica) {
    workers.push_back(std::make_unique<ShowerStream>(
        set_, BatchStreamOptions{.seed = 3, .batch = 2, .replicas = 4, .owned = {replica}, .depth = 5, .threads = 3},
        Position{0, 2}));
  }
  whole.next();
  whole.next();
  for (int step = 0; step < 10; ++step) {
    const ShowerStream::Step all = whole.next();
    for (size_t replica = 0; replica < 4; ++replica) {
      const ShowerStream::Step one = workers[replica]->next();
      EXPECT_EQ(one.position, all.position);
      EXPECT_EQ(one.replicas[0].image, all.replicas[replica].image);
    }
  }
}

TEST_F(BatchStreamTest, AnyReplicaOfAStepIsReadAtOnce) {
  ShowerStream whole(set_, {.seed = 3, .batch = 2, .replicas = 4, .owned = {0, 1, 2, 3}}, {});
  ShowerStream other(set_, {.seed = 3, .batch = 2, .replicas = 4, .owned = {1}}, {});
  for (int step = 0; step < 7; ++step) {
    const ShowerStream::Step all = whole.next();
    for (int replica = 3; replica >= 0; --replica)
      EXPECT_EQ(other.read(all.position, replica).image, all.replicas[static_cast<size_t>(replica)].image);
    EXPECT_EQ(other.next().replicas[0].image, all.replicas[1].image) << "its own order goes on";
  }
}

TEST_F(BatchStreamTest, APositionAtTheEndOfAnEpochIsTheNextEpoch) {
  ShowerStream stream(set_, {.batch = 5, .owned = {0}, .steps_per_epoch = 3}, {2, 3});
  EXPECT_EQ(stream.next().position, (Position{3, 0}));
}

TEST_F(BatchStreamTest, WithoutShuffleTheOrderIsTheFiles) {
  ShowerStream stream(set_, {.batch = 4, .owned = {0}, .shuffle = false}, {0, 1});
  const ShowerStream::Step step = stream.next();
  for (size_t k = 0; k < 4; ++k) EXPECT_EQ(event_of(step.replicas[0].energy[k]), static_cast<int64_t>(4 + k));
}

TEST_F(BatchStreamTest, AnEpochNeedsEnoughEvents) {
  const auto make = [&](const BatchStreamOptions& options) {
    return message_of(ErrorCode::kUser, [&] { ShowerStream stream(set_, options, {}); });
  };
  EXPECT_TRUE(contains(make({.batch = 9, .replicas = 3, .owned = {0}}), "only 26"));
  EXPECT_TRUE(contains(make({.batch = 5, .owned = {0}, .steps_per_epoch = 6}), "only 5"));
  make({.batch = 0, .owned = {0}});
  make({.owned = {0}, .depth = 0});
  make({.owned = {0}, .threads = 1000});
}

TEST_F(BatchStreamTest, AReadersErrorReachesTheCaller) {
  write_hdf5(path("a.h5"), columns_of(make_showers(25)));
  ShowerStream stream(set_, {.batch = 4, .owned = {0}, .threads = 2}, {});
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(contains(message_of(ErrorCode::kData, [&] { stream.next(); }), "changed"));
  }
}

TEST_F(BatchStreamTest, TablesStreamLikeShowers) {
  write_parquet(path("a.parquet"), make_events(20));
  const auto table = EventTable::open({path("a.parquet")}, requests(6));
  BatchStream<EventTable> stream(table, {.seed = 5, .batch = 4, .replicas = 2, .owned = {1}, .threads = 2}, {1, 0});
  const std::vector<int64_t> order = epoch_order(5, 1, 20);
  for (size_t step = 0; step < 2; ++step) {
    const auto got = stream.next();
    // The first feature of an event is its number.
    for (size_t k = 0; k < 4; ++k)
      EXPECT_EQ(std::lround(got.replicas[0].columns[1][4 * k]), order[(step * 2 + 1) * 4 + k]);
  }
}

TEST_F(BatchStreamTest, MoreIsReadAheadWhereATrainingWaitsAndTheOrderStays) {
  ShowerStream fixed(set_, {.seed = 3, .batch = 2, .owned = {0}, .depth = 1}, {});
  ShowerStream grows(set_, {.seed = 3, .batch = 2, .owned = {0}}, {});
  EXPECT_EQ(grows.depth(), kDepthFirst);
  // Slow, so that all steps are there, and then many at once.
  for (int burst = 0; burst < 400 && grows.depth() < 4 * kDepthFirst; ++burst) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    std::vector<ShowerStream::Step> steps;
    for (int i = 0; i < 4 * kDepthFirst; ++i) steps.push_back(grows.next());
    for (const ShowerStream::Step& step : steps) {
      const ShowerStream::Step same = fixed.next();
      ASSERT_EQ(step.position, same.position);
      ASSERT_EQ(step.replicas[0].image, same.replicas[0].image);
    }
  }
  EXPECT_GE(grows.depth(), 4 * kDepthFirst);
  EXPECT_LE(grows.depth(), kDepthMax);
  EXPECT_EQ(fixed.depth(), 1);
}

TEST_F(BatchStreamTest, EndsWhileReadersAreBusy) {
  for (int i = 0; i < 20; ++i) {
    ShowerStream stream(set_, {.batch = 4, .owned = {0}, .depth = 2, .threads = 4}, {});
    if (i % 2 == 0) stream.next();
  }
}

}  // namespace
}  // namespace linac::data::testing
