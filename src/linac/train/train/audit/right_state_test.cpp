#include "linac/train/train/audit/right_state.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

#include "linac/train/comm/test_in_process_group.h"

namespace linac::train {
namespace {

TrainState state_at(int64_t step, int rollbacks = 0) {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a", {3});
  parameters.trainable.assign(static_cast<size_t>(parameters.trainable_layout.total), static_cast<float>(step));
  const size_t size = parameters.trainable.size();
  TrainState state;
  state.networks.push_back({"model", std::move(parameters), optimizer::Optimizer({}, size), {}, {}});
  state.global_step = state.step = step;
  state.rollbacks = rollbacks;
  return state;
}

TEST(RightState, AStateThatHasGoneBackIsALaterOne) {
  RightState right(true);
  right.set(state_at(4));
  TrainState state = state_at(9);
  EXPECT_TRUE(right.doubt(state));
  const comm::Moment before = right.moment_of(state), target = right.target(state);
  EXPECT_GT(target, before);
  right.restore(state);
  EXPECT_EQ(state.global_step, 4);
  EXPECT_EQ(state.rollbacks, 0) << "or it would draw other random numbers";
  EXPECT_EQ(state.networks[0].parameters.trainable.front(), 4);
  EXPECT_EQ(right.moment_of(state), target);
  EXPECT_FALSE(right.doubt(state)) << "nothing was done since";
}

TEST(RightState, WhatLiesBehindACollapseIsNoneAnyMore) {
  RightState right(true);
  right.set(state_at(4));
  right.limit(state_at(6, 1));
  EXPECT_EQ(right.global_step(), 4);
  right.limit(state_at(2, 1));
  EXPECT_EQ(right.global_step(), 2);
  TrainState state = state_at(5, 1);
  right.restore(state);
  EXPECT_EQ(state.rollbacks, 1);
}

// One of them comes later and has none; what the source of the view says counts.
TEST(RightState, ANewcomerGoesBackWithTheOthers) {
  auto groups = comm::make_in_process_groups(3, std::chrono::seconds(20));
  std::vector<std::jthread> threads;
  for (auto& group : groups) {
    threads.emplace_back([&] {
      const bool is_new = group->rank() == 2;
      RightState right(true);
      TrainState state = state_at(9);
      if (!is_new) {
        right.set(state_at(4));
        right.doubt(state);
      }
      if (group->rank() != 1) right.share(*group, std::array{0, 2}, state, false);
      const auto doubted_at = right.due(*group, 0);
      ASSERT_TRUE(doubted_at);
      EXPECT_EQ(*doubted_at, 9);
      right.restore(state);
      EXPECT_EQ(state.global_step, 4);
      EXPECT_EQ(state.networks[0].parameters.trainable.front(), 4) << group->rank();
      EXPECT_FALSE(right.due(*group, 0)) << "once";
    });
  }
}

TEST(RightState, WithoutAuditsItHoldsNothing) {
  RightState right(false);
  right.set(state_at(4));
  const auto group = comm::make_lone_group();
  EXPECT_FALSE(right.due(*group, 0));
  EXPECT_EQ(right.moment_of(state_at(9)).rollbacks, 0);
}

}  // namespace
}  // namespace linac::train
