#include "linac/train/train/local/turns.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/train/train/local/replayed.h"

namespace linac::train {
namespace {

job::Train train_of(const char* mode, int groups, double delays, int64_t max_staleness = 0) {
  job::Train train;
  train.sync.mode = mode;
  train.sync.groups = groups;
  train.sync.schedule.delays = delays;
  train.sync.max_staleness = max_staleness;
  return train;
}

// Of two layers, whose weights are all `value`.
Network network_of(float value) {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a/kernel", {2});
  parameters.trainable_layout.add("a/bias", {1});
  parameters.trainable_layout.add("deep/b/kernel", {2});
  parameters.trainable.assign(static_cast<size_t>(parameters.trainable_layout.total), value);
  const size_t size = parameters.trainable.size();
  return {"model", std::move(parameters), optimizer::Optimizer({}, size), {}, {}};
}

std::vector<AlignedFloats> ways_of(const Network& network, const std::vector<float>& values) {
  std::vector<AlignedFloats> ways;
  for (const float value : values) ways.emplace_back(network.parameters.trainable.size(), value);
  return ways;
}

TEST(Turns, WithoutDelaysTheyGoByTheirNumbers) {
  const job::Train train = train_of("downpour", 5, 0);
  for (int64_t round = 0; round < 10; ++round)
    EXPECT_EQ(order_of_turns(train, round, 0), (std::vector<int>{0, 1, 2, 3, 4}));
  const std::vector<Network> networks{network_of(0)};
  EXPECT_EQ(staleness_of(train, 0, networks).max, 4) << "all have begun with the same weights";
  EXPECT_EQ(staleness_of(train, 0, networks).mean, 2);
  EXPECT_EQ(staleness_of(train, 1, networks).mean, 4);
  EXPECT_EQ(staleness_of(train, 1, networks).max, 4);
}

TEST(Turns, TheScheduleIsDrawnByRoundLayerAndSeed) {
  job::Train train = train_of("hybrid", 8, 8);
  std::set<std::vector<int>> orders;
  for (int64_t round = 0; round < 20; ++round)
    for (int64_t layer = 0; layer < 3; ++layer) {
      std::vector<int> order = order_of_turns(train, round, layer);
      EXPECT_EQ(order, order_of_turns(train, round, layer));
      orders.insert(order);
      std::ranges::sort(order);
      std::vector<int> all(8);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(order, all) << "each has one turn";
    }
  EXPECT_GT(orders.size(), 50U);
  const std::vector<int> one = order_of_turns(train, 3, 0);
  int others = 0;
  for (train.sync.schedule.seed = 1; train.sync.schedule.seed < 9; ++train.sync.schedule.seed)
    others += order_of_turns(train, 3, 0) == one ? 0 : 1;
  EXPECT_GT(others, 5);
}

TEST(Turns, NoGroupIsStalerThanTheBound) {
  const std::vector<Network> networks{network_of(0)};
  for (const int groups : {2, 3, 8}) {
    int64_t unbounded = 0;
    for (int64_t bound = groups - 1; bound < 3 * groups; ++bound) {
      int64_t most = 0;
      double sum = 0;
      for (int64_t round = 1; round < 200; ++round) {
        const Staleness one = staleness_of(train_of("gem", groups, 100, bound), round, networks);
        most = std::max(most, one.max);
        sum += one.mean;
        unbounded = std::max(unbounded, staleness_of(train_of("gem", groups, 100), round, networks).max);
      }
      EXPECT_LE(most, bound) << groups << " groups";
      EXPECT_NEAR(sum / 199, groups - 1, 0.01 * groups) << "in the mean each of the others has had one";
    }
    EXPECT_EQ(unbounded, 2 * (groups - 1)) << "first in one round, last in the next";
  }
}

TEST(Turns, OfAHybridEachLayerHasItsOwn) {
  const graph::Layout layout = network_of(0).parameters.trainable_layout;
  const auto parts = parts_of_turns(train_of("hybrid", 2, 0).sync, layout);
  ASSERT_EQ(parts.size(), 2U);
  EXPECT_EQ(parts[0].begin, 0U);
  EXPECT_EQ(parts[0].end, static_cast<size_t>(layout.find("deep/b/kernel").offset));
  EXPECT_EQ(parts[1].begin, parts[0].end);
  EXPECT_EQ(parts[1].end, static_cast<size_t>(layout.total));
  EXPECT_EQ(parts_of_turns(train_of("downpour", 2, 0).sync, layout).size(), 1U);
}

TEST(Turns, DownpourGoesOnFromWhatItLeft) {
  job::Train train = train_of("downpour", 2, 0);
  train.sync.push = 0.5;
  Network network = network_of(1);
  ExchangeState::Values shared;
  take_turns(train, 0, network, ways_of(network, {0.5F, -1}), shared);
  EXPECT_EQ(network.parameters.trainable[0], 1.25F);  // 1 - 0.25 + 0.5
  TrainState state;
  state.networks.push_back(network);
  state.exchange.shared = shared;
  EXPECT_EQ(weights_of_group(state, 0, network)[0], 0.75F) << "the other one has not been there";
  EXPECT_EQ(weights_of_group(state, 1, network)[0], 1.25F);
  EXPECT_EQ(weights_of_group(state, 2, network)[0], 1.25F) << "one that had no turn: of all";
}

TEST(Turns, ElasticGroupsAndThoseOfAllMoveAlike) {
  job::Train train = train_of("eamsgd", 2, 0);
  train.sync.beta = 0.5;
  Network network = network_of(0);
  ExchangeState::Values shared;
  take_turns(train, 0, network, ways_of(network, {-4, -3}), shared);  // they reach 4 and 3
  // The first: a quarter of 4. The second: a quarter of 3 - 1.
  EXPECT_EQ(network.parameters.trainable[0], 1.5F);
  EXPECT_EQ(shared.at("turn/0/weights/model")[0], 3);
  EXPECT_EQ(shared.at("turn/1/weights/model")[0], 2.5F);
}

TEST(Turns, GemGoesLessFarWhereTheOthersHaveGoneAlready) {
  const job::Train train = train_of("gem", 2, 0);
  Network network = network_of(0);
  ExchangeState::Values shared;
  take_turns(train, 0, network, ways_of(network, {-1, -1}), shared);
  // The first goes 1; of the second 1 - 1 of its way is left.
  EXPECT_NEAR(network.parameters.trainable[0], 1, 1e-6);
  EXPECT_EQ(shared.at("turn/0/weights/model")[0], 0) << "as it came, before its own push";
  EXPECT_NEAR(shared.at("turn/1/weights/model")[0], 1, 1e-6);
  take_turns(train, 1, network, ways_of(network, {-1, 0}), shared);
  // Of the first: a mean of 1.9, less the 1 that all have gone since it came. The second has no way to go.
  EXPECT_NEAR(network.parameters.trainable[0], 1.9F, 1e-6);
  EXPECT_NEAR(shared.at("turn/0/mean/model")[0], 1.9F, 1e-6);
  const float before = network.parameters.trainable[0];
  take_turns(train, 2, network, ways_of(network, {-0.001F, 0}), shared);
  EXPECT_LE(network.parameters.trainable[0], before + 5 * 0.001F + 1e-6F) << "five times its way at most";
}

TEST(Replayed, GroupsBeginAnewByTheirRounds) {
  const TemporaryFolder folder;
  EXPECT_TRUE(anew_rounds_of("", 4).empty());
  EXPECT_THROW(anew_rounds_of(folder.path(), 4), Error);
  std::ofstream(folder / "metrics.jsonl") << R"({"kind":"round","global_step":2,"round":1,"anew":[]}
{"kind":"round","global_step":4,"round":2,"anew":[1,3]}
{"kind":"rollback","global_step":2}
{"kind":"round","global_step":4,"round":2,"anew":[0]}
{"kind":"rou)";
  const AnewRounds anew = anew_rounds_of(folder.path(), 4);
  EXPECT_EQ(anew, (AnewRounds{{{0, 1}, {1, 3}}, {{1, 1}, {0}}}));
  EXPECT_THROW(anew_rounds_of(folder.path(), 3), Error);
  std::ofstream(folder / "metrics.jsonl") << R"({"kind":"step","global_step":2})"
                                          << "\n";
  EXPECT_THROW(anew_rounds_of(folder.path(), 4), Error) << "a run of another kind";
}

}  // namespace
}  // namespace linac::train
