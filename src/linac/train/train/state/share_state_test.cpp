#include "linac/train/train/state/share_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/test_in_process_group.h"

namespace linac::train {
namespace {

using std::literals::chrono_literals::operator""s;
using std::literals::chrono_literals::operator""ms;

// Every value is another one, by `from`.
TrainState state_from(float from) {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a", {700'000});
  parameters.trainable.resize(static_cast<size_t>(parameters.trainable_layout.total));
  parameters.statistics.resize(3);
  optimizer::Settings settings;
  settings.name = "adam";
  const size_t size = parameters.trainable.size();
  TrainState state;
  state.networks.push_back({"model", std::move(parameters), optimizer::Optimizer(settings, size), {}, {}});
  for (const std::span<float> values : values_of(state.networks)) std::iota(values.begin(), values.end(), from++);
  state.global_step = static_cast<int64_t>(from);
  state.networks[0].optimizer.set_updates(state.global_step);
  state.epoch_sums["loss"] = 0.1 * from;
  state.input = InputPlace{.seed = 5,
                           .epoch = 1,
                           .window = {.window = state.global_step, .first = 40},
                           .seen = primaries::TrainedRange{{1.0 / 3, 0.1 * from}, {1, 2}}};
  state.history.push_back({.epoch = 0, .train = {{"loss", 1.0 / 3}}, .test = {}, .physics = {}});
  return state;
}

TEST(ShareState, GivesThoseWhoNeedItEveryBitAndLeavesTheOthersAlone) {
  auto groups = comm::make_in_process_groups(4, 10s);
  const std::vector<int> ranks{2, 0, 3};
  const std::string expected = encode(state_from(2), {}), own = encode(state_from(1), {});
  std::vector<int64_t> sent(4);
  {
    std::vector<std::jthread> threads;
    for (auto& group : groups) {
      threads.emplace_back([&] {
        TrainState state = state_from(static_cast<float>(group->rank()));
        if (group->rank() != 1) share_state(*group, ranks, state);
        EXPECT_EQ(encode(state, {}) == expected, group->rank() != 1);
        EXPECT_EQ(encode(state, {}) == own, group->rank() == 1);
        sent[static_cast<size_t>(group->rank())] = group->traffic().bytes;
      });
    }
  }
  EXPECT_EQ(sent[1], 0) << "who needs nothing carries nothing";
  EXPECT_LT(sent[2], 2 * 3 * 700'064 * int64_t{sizeof(float)} + 10'000) << "once to each, in the form of memory";
}

TEST(ShareState, WhatBreaksOffChangesNothing) {
  auto groups = comm::make_in_process_groups(2, 200ms);
  const std::vector<int> ranks{0, 1};
  std::jthread sender([&] {
    TrainState state = state_from(7);
    std::string position = position_text(state);
    std::array<uint64_t, 1> size{position.size()};
    groups[0]->broadcast_among(ranks, std::as_writable_bytes(std::span(size)));
    groups[0]->broadcast_among(ranks, std::as_writable_bytes(std::span(position)));
    groups[0]->broadcast_among(ranks, std::as_writable_bytes(values_of(state.networks).front()));
    groups[0].reset();  // lost in the midst
  });
  TrainState state = state_from(1);
  const std::string before = encode(state, {});
  EXPECT_THROW(share_state(*groups[1], ranks, state), Error);
  EXPECT_EQ(encode(state, {}), before);
}

}  // namespace
}  // namespace linac::train
