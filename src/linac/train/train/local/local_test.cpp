#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

#include "linac/train/comm/test_in_process_group.h"
#include "linac/train/train/local/int8_way.h"
#include "linac/train/train/local/islands.h"
#include "linac/train/train/local/outer_step.h"

namespace linac::train {
namespace {

using namespace std::chrono_literals;

std::vector<float> drawn(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

TEST(OuterStep, WithRateOneAndNoMomentumTheWeightsAreTheMean) {
  std::vector<float> weights{1, 2, 3}, momentum(3);
  outer_step({.lr = 1, .momentum = 0, .nesterov = false}, weights, std::vector<float>{0.5F, -1, 0}, momentum);
  EXPECT_EQ(weights, (std::vector<float>{0.5F, 3, 3}));
}

TEST(OuterStep, LooksAheadAsNesterov) {
  const job::OuterOptimizer settings{.lr = 0.5, .momentum = 0.5, .nesterov = true};
  std::vector<float> weights{0}, momentum(1);
  outer_step(settings, weights, std::vector<float>{1}, momentum);
  EXPECT_FLOAT_EQ(momentum[0], 1);
  EXPECT_FLOAT_EQ(weights[0], -0.75F);  // 0.5 (1 + 0.5)
  outer_step(settings, weights, std::vector<float>{1}, momentum);
  EXPECT_FLOAT_EQ(momentum[0], 1.5F);
  EXPECT_FLOAT_EQ(weights[0], -0.75F - 0.875F);  // 0.5 (1 + 0.75)
}

TEST(ElasticStep, AGroupAndThoseOfAllMoveTowardsEachOther) {
  std::vector<float> weights{1, -2};
  elastic_step(0.25F, weights, std::vector<float>{3, -2});
  EXPECT_EQ(weights, (std::vector<float>{1.5F, -2}));
}

TEST(Int8Way, WhatIsLeftOutComesWithTheNextOne) {
  const size_t count = 700;  // of which the last block is no whole one
  std::vector<float> left_out(count), told(count), sum(count), wanted(count);
  for (uint64_t round = 0; round < 50; ++round) {
    const std::vector<float> way = drawn(count, round);
    const auto bytes = to_int8(way, left_out);
    ASSERT_EQ(bytes.size(), count + 3 * sizeof(float));
    from_int8(bytes, told);
    for (size_t i = 0; i < count; ++i) {
      sum[i] += told[i];
      wanted[i] += way[i];
      EXPECT_NEAR(sum[i] + left_out[i], wanted[i], 1e-4) << "nothing is lost for ever";
      EXPECT_LT(std::fabs(left_out[i]), 0.03) << "half a step of the greatest value";
    }
  }
}

TEST(Int8Way, AWayOfNothingIsNothing) {
  std::vector<float> left_out(3), told{1, 2, 3};
  from_int8(to_int8(std::vector<float>(3), left_out), told);
  EXPECT_EQ(told, std::vector<float>(3));
}

comm::View view_of(const std::vector<int>& shares) {
  comm::View view;
  for (const int share : shares) view.members.push_back({.share = share});
  return view;
}

TEST(Islands, TheirPlacesFollowFromTheView) {
  const auto places = places_of_islands(view_of({3, 1, 2, 2}), 8, 4);
  ASSERT_EQ(places.size(), 4U);
  EXPECT_EQ(places[0].ranks, (std::vector<int>{0}));
  EXPECT_EQ(places[1].ranks, (std::vector<int>{0, 1}));
  EXPECT_EQ(places[1].replicas[1].begin, 1);
  EXPECT_EQ(places[3].ranks, (std::vector<int>{3}));
}

TEST(Islands, WhoCarriesNothingListensToTheLastOne) {
  const auto places = places_of_islands(view_of({1, 1, 0}), 2, 2);
  EXPECT_EQ(places[1].ranks, (std::vector<int>{1, 2}));
  EXPECT_EQ(places[1].replicas[1].begin, places[1].replicas[1].end);
}

job::Job job_of(int replicas, int islands) {
  job::Job job;
  job.train.replicas = replicas;
  job.train.sync.mode = "local";
  job.train.sync.groups = islands;
  return job;
}

TEST(CopiesOfIslands, AreKeptAtAnotherPlaceAndByAllAlike) {
  using Ranks = std::vector<int>;
  EXPECT_EQ(keepers_of_copies({0}, {"", ""}), (Ranks{0})) << "nobody else leads";
  EXPECT_EQ(keepers_of_copies({0, 1, 2}, {"", "", ""}), (Ranks{1, 2, 0}));
  EXPECT_EQ(keepers_of_copies({0, 2, 4}, {"", "", "", "", ""}), (Ranks{2, 4, 0}));
  EXPECT_EQ(keepers_of_copies({0, 1, 2, 3}, {"farm", "farm", "k8s", "k8s"}), (Ranks{2, 3, 0, 1}));
  EXPECT_EQ(keepers_of_copies({0, 1, 2, 3}, {"farm", "farm", "farm", "k8s"}), (Ranks{3, 3, 3, 0}));
  EXPECT_EQ(keepers_of_copies({0, 1}, {"farm", "farm", "k8s"}), (Ranks{2, 2})) << "who leads none has another place";
  const std::vector<std::string> places{"a", "a", "b", "c", "c", "a"};
  const Ranks keepers = keepers_of_copies({0, 1, 2, 3, 4, 5}, places);
  for (int i = 0; i < 6; ++i) {
    EXPECT_NE(places[static_cast<size_t>(keepers[static_cast<size_t>(i)])], places[static_cast<size_t>(i)]) << i;
    EXPECT_LE(std::ranges::count(keepers, i), 2) << i;
  }
}

// Each island's part is known to its leader alone; all get the same sum, and all parts as bytes.
class Together : public testing::TestWithParam<std::vector<int>> {};

TEST_P(Together, TheSumIsTheSameWhoeverCarriesThem) {
  constexpr int kIslands = 4;
  constexpr size_t kSize = 5000;
  const job::Job job = job_of(8, kIslands);
  std::vector<float> wanted(kSize);
  std::vector<std::span<const float>> all;
  std::vector<std::vector<float>> values;
  for (int island = 0; island < kIslands; ++island) values.push_back(drawn(kSize, static_cast<uint64_t>(island)));
  for (const auto& one : values) all.emplace_back(one);
  comm::tree_sum(all, wanted);

  auto groups = comm::make_in_process_groups(static_cast<int>(GetParam().size()), 20s, GetParam());
  std::vector<std::jthread> threads;
  for (auto& group : groups) {
    threads.emplace_back([&] {
      Islands islands(job, *group);
      islands.enter_view();
      std::vector<std::vector<float>> led;
      std::vector<std::vector<std::byte>> parts, bytes(kIslands, std::vector<std::byte>(3));
      for (const int island : islands.led()) {
        led.push_back(values[static_cast<size_t>(island)]);
        parts.emplace_back(3, static_cast<std::byte>(island + 1));
      }
      const std::vector<std::span<float>> spans(led.begin(), led.end());
      std::vector<float> total(kSize);
      islands.sum(spans, total, comm::Exchange::kFloat);
      EXPECT_EQ(total, wanted);
      islands.gather(parts, bytes);
      for (int island = 0; island < kIslands; ++island)
        EXPECT_EQ(bytes[static_cast<size_t>(island)], std::vector<std::byte>(3, static_cast<std::byte>(island + 1)));
      const std::vector<float> own(islands.led().size(), 10.0F + static_cast<float>(group->rank()));
      const std::vector<int> watched = islands.watched();
      EXPECT_EQ(islands.watch(own, 1).size(), watched.size());
      for (const int island : islands.led()) EXPECT_EQ(std::ranges::count(watched, island), 0);
      group->barrier();  // who is done first would end the others' connections
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Views, Together,
                         testing::Values(std::vector{8}, std::vector{6, 2}, std::vector{2, 2, 2, 2},
                                         std::vector{3, 1, 2, 2}, std::vector{1, 1, 1, 1, 1, 1, 1, 1},
                                         std::vector{1, 1, 1, 1, 1, 1, 1, 1, 0}, std::vector{5, 3}));

}  // namespace
}  // namespace linac::train
