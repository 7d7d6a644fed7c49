#include "linac/train/train/state/same_state.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <set>
#include <string>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/test_in_process_group.h"

namespace linac::train {
namespace {

using std::literals::chrono_literals::operator""s;

TrainState some_state() {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a", {1000});
  parameters.trainable.resize(1000);
  parameters.statistics.resize(3);
  optimizer::Settings settings;
  settings.name = "adam";
  TrainState state;
  state.networks.push_back({"model", std::move(parameters), optimizer::Optimizer(settings, 1000), {}, {}});
  float value = 1;
  for (const std::span<float> values : values_of(state.networks))
    for (float& one : values) one = value++;
  state.global_step = 7;
  return state;
}

// What the ranks are told; the states of `odd` have one bit of buffer `which` turned over.
std::set<std::string> told(int ranks, const std::set<int>& odd, size_t which) {
  auto groups = comm::make_in_process_groups(ranks, 10s);
  std::mutex mutex;
  std::set<std::string> all;
  {
    std::vector<std::jthread> threads;
    for (auto& group : groups) {
      threads.emplace_back([&] {
        TrainState state = some_state();
        if (odd.contains(group->rank())) {
          float& one = values_of(state.networks)[which].back();
          one = std::bit_cast<float>(std::bit_cast<uint32_t>(one) ^ 1u);
        }
        std::string text;
        try {
          need_same_state(*group, state);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
          text = error.what();
        }
        const std::lock_guard lock(mutex);
        all.insert(text);
      });
    }
  }
  return all;
}

TEST(SameState, IsNothingToTell) {
  EXPECT_EQ(told(1, {0}, 0), std::set<std::string>{""});
  EXPECT_EQ(told(3, {}, 0), std::set<std::string>{""});
  EXPECT_EQ(told(2, {0, 1}, 0), std::set<std::string>{""}) << "alike";
}

TEST(SameState, OneBitOfAnyBufferIsSeenAndTheRankNamedToAll) {
  for (size_t which = 0; which < 4; ++which) {
    const auto all = told(3, {1}, which);
    ASSERT_EQ(all.size(), 1u);
    EXPECT_NE(all.begin()->find("after step 7 the networks of rank 1 on "), std::string::npos) << *all.begin();
    EXPECT_EQ(all.begin()->find("rank 0"), std::string::npos) << *all.begin();
  }
}

TEST(SameState, OfTwoNobodyCanTellWhoseAreRight) {
  const auto all = told(2, {0}, 0);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_NE(all.begin()->find("rank 0 on"), std::string::npos) << *all.begin();
  EXPECT_NE(all.begin()->find("rank 1 on"), std::string::npos) << *all.begin();
}

}  // namespace
}  // namespace linac::train
