// Updates of several workers in one process, some of which lie.
#include <gtest/gtest.h>

#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/test_in_process_group.h"
#include "linac/train/train/exchange/replica_update.h"

namespace linac::train {
namespace {

job::Job job_of(int replicas, double rate) {
  job::Job job;
  job.train.replicas = replicas;
  job.train.audit.rate = rate;
  job.train.optimizer = {};
  job.train.optimizer.name = "sgd";
  return job;
}

TrainState state_of(const job::Job& job) {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a", {40});
  parameters.trainable_layout.add("b", {16});
  parameters.trainable.assign(static_cast<size_t>(parameters.trainable_layout.total), 0.0F);
  TrainState state;
  state.networks.push_back(
      {"model", parameters, optimizer::Optimizer(job.train.optimizer, parameters.trainable.size()), {}, {}});
  state.global_step = 5;
  return state;
}

// Told weight by weight, the last one first.
models::Contribution right(const graph::Layout& layout, int replica, const graph::GradientReady& ready) {
  models::Contribution made;
  made.gradient.assign(static_cast<size_t>(layout.total), 0.5F * static_cast<float>(replica + 1));
  made.losses = {static_cast<float>(replica)};
  made.judge();
  for (size_t i = layout.slots.size(); ready && i-- > 0;)
    ready(layout.slots[i].offset,
          std::span(made.gradient)
              .subspan(static_cast<size_t>(layout.slots[i].offset), static_cast<size_t>(layout.slots[i].size)));
  return made;
}

struct Outcome {
  bool applied = false;
  StepResult result;
  AlignedFloats weights;
};

/// Whether what `rank` computes of `replica` the n-th time is wrong.
using Lies = std::function<bool(int rank, int replica, int time)>;

std::vector<Outcome> outcomes(int workers, const job::Job& job, const Lies& lies) {
  auto groups = comm::make_in_process_groups(workers, std::chrono::seconds(20));
  std::vector<Outcome> all(static_cast<size_t>(workers));
  std::vector<std::jthread> threads;
  for (auto& group : groups) {
    threads.emplace_back([&] {
      const int rank = group->rank();
      PhaseClock clock;
      ReplicaUpdate update(job, *group, 2, clock);
      TrainState state = state_of(job);
      update.take_place(state);
      const graph::Layout layout = state.networks[0].parameters.trainable_layout;
      std::mutex mutex;
      std::map<int, int> times;
      const auto computed = [&](int replica, const graph::GradientReady& ready) {
        int time = 0;
        {
          const std::lock_guard lock(mutex);
          time = times[replica]++;
        }
        if (!lies(rank, replica, time)) return right(layout, replica, ready);
        models::Contribution made = right(layout, replica, {});
        made.gradient[static_cast<size_t>(layout.slots[1].offset)] += static_cast<float>(1 + rank);
        return made;
      };
      Outcome& mine = all[static_cast<size_t>(rank)];
      mine.applied = update.run(
          "", {"loss"}, state, 0, 1,
          [&](size_t i, const graph::GradientReady& ready) { return computed(update.owned()[i], ready); },
          StepWish::kNone, mine.result, {}, {}, [&](int replica) { return computed(replica, {}); });
      mine.weights = state.networks[0].parameters.trainable;
    });
  }
  threads.clear();
  return all;
}

void expect_found(const std::vector<Outcome>& all, const std::vector<int>& wrong, const std::vector<int>& suspects) {
  for (const Outcome& one : all) {
    EXPECT_FALSE(one.applied);
    EXPECT_EQ(one.result.health, Health::kWrong);
    ASSERT_TRUE(one.result.finding);
    EXPECT_EQ(one.result.finding->wrong, wrong);
    EXPECT_EQ(one.result.finding->suspects, suspects);
    EXPECT_NE(one.result.finding->what.find("differs from the gradient of 'b' on, in 1 of 2 gradients"),
              std::string::npos)
        << one.result.finding->what;
    EXPECT_EQ(one.weights[0], 0) << "the network is as it was";
  }
}

TEST(AuditedUpdate, HonestWorkersComeToTheSameBitsAsWithoutAudit) {
  const auto honest = [](int, int, int) { return false; };
  for (const int workers : {1, 2, 3, 5}) {
    const std::vector<Outcome> without = outcomes(workers, job_of(4, 0), honest),
                               with = outcomes(workers, job_of(4, 1), honest);
    for (size_t rank = 0; rank < with.size(); ++rank) {
      EXPECT_TRUE(with[rank].applied);
      ASSERT_TRUE(with[rank].result.finding) << "of an update that was audited";
      EXPECT_TRUE(with[rank].result.finding->wrong.empty() && with[rank].result.finding->suspects.empty());
      EXPECT_FALSE(without[rank].result.finding);
      EXPECT_EQ(with[rank].weights, without[rank].weights);
      EXPECT_EQ(with[rank].weights[0], -0.5F * (1 + 2 + 3 + 4));
      EXPECT_EQ(with[rank].result.losses, without[rank].result.losses);
    }
  }
}

TEST(AuditedUpdate, WithoutAuditNobodyNotices) {
  for (const Outcome& one : outcomes(3, job_of(3, 0), [](int rank, int, int) { return rank == 1; }))
    EXPECT_TRUE(one.applied);
}

TEST(AuditedUpdate, ALiarIsNamedWhateverItsRank) {
  for (const int workers : {3, 4, 5}) {
    for (int liar = 0; liar < workers; ++liar)
      expect_found(outcomes(workers, job_of(2 * workers, 1), [&](int rank, int, int) { return rank == liar; }), {liar},
                   {});
  }
}

TEST(AuditedUpdate, OneThatLiesOnlyWhenItAuditsIsNamed) {
  expect_found(outcomes(3, job_of(3, 1), [](int rank, int replica, int) { return rank == 2 && replica != 2; }), {2},
               {});
}

TEST(AuditedUpdate, OneThatErredOnceIsNamed) {
  for (const int workers : {1, 2, 3})
    expect_found(outcomes(workers, job_of(3, 1),
                          [](int rank, int replica, int time) { return rank == 0 && replica == 0 && time == 0; }),
                 {0}, {});
}

TEST(AuditedUpdate, TwoLiarsOfFiveAreNamed) {
  expect_found(outcomes(5, job_of(5, 1), [](int rank, int, int) { return rank == 1 || rank == 3; }), {1, 3}, {});
}

TEST(AuditedUpdate, OfTwoBothAreSuspects) {
  expect_found(outcomes(2, job_of(2, 1), [](int rank, int, int) { return rank == 1; }), {}, {0, 1});
}

TEST(AuditedUpdate, WhoHasNothingElseToDoAudits) {
  std::mutex mutex;
  std::set<std::pair<int, int>> computed;
  outcomes(4, job_of(2, 1), [&](int rank, int replica, int) {
    const std::lock_guard lock(mutex);
    computed.emplace(rank, replica);
    return false;
  });
  EXPECT_EQ(computed.size(), 4U) << "each of four workers one, two of them another's";
}

TEST(AuditedUpdate, WhatFailsInASecondComputingFailsTheUpdate) {
  const job::Job job = job_of(2, 1);
  const auto group = comm::make_lone_group();
  PhaseClock clock;
  ReplicaUpdate update(job, *group, 1, clock);
  TrainState state = state_of(job);
  update.take_place(state);
  const graph::Layout layout = state.networks[0].parameters.trainable_layout;
  StepResult result;
  EXPECT_THROW(
      update.run(
          "", {"loss"}, state, 0, 1,
          [&](size_t i, const graph::GradientReady& ready) { return right(layout, static_cast<int>(i), ready); },
          StepWish::kNone, result, {}, {},
          [](int) -> models::Contribution { throw data_error("[data] a file is gone"); }),
      Error);
  EXPECT_EQ(state.networks[0].parameters.trainable[0], 0);
}

// A fault that is made on purpose, in each place that an update has.
TEST(AuditedUpdate, AFaultIsFound) {
  const std::map<std::string, std::string> begins{{"batch", "the events that were read on"},
                                                  {"gradient", "the gradient"},
                                                  {"weights", "the gradient"},
                                                  {"message", "the sum over"}};
  for (const auto& [where, begin] : begins) {
    SCOPED_TRACE(where);
    job::Job job = job_of(3, 1);
    job.train.audit.fault = {.in = where, .worker = 2, .step = 5};
    auto groups = comm::make_in_process_groups(3, std::chrono::seconds(20));
    std::vector<std::jthread> threads;
    for (auto& group : groups) {
      threads.emplace_back([&] {
        PhaseClock clock;
        ReplicaUpdate update(job, *group, 2, clock);
        TrainState state = state_of(job);
        update.take_place(state);
        const graph::Parameters& network = state.networks[0].parameters;
        // Of the weights a pass reads all, and of the events.
        const auto of = [&](int replica) {
          const data::TableBatch batch = update.as_read(state, replica, data::TableBatch{2, {{1, 2}, {3, 4}}});
          models::Contribution made = right(network.trainable_layout, replica, {});
          made.gradient = network.trainable;
          made.losses = {batch.columns[0][0] + batch.columns[0][1]};
          made.read = update.read_digest(state, batch);
          return made;
        };
        for (const int64_t step : {4, 5}) {
          state.global_step = step;
          const AlignedFloats before = state.networks[0].parameters.trainable;
          StepResult result;
          update.run(
              "", {"loss"}, state, 0, 1e-9,
              [&](size_t i, const graph::GradientReady&) { return of(update.owned()[i]); }, StepWish::kNone, result, {},
              {}, of);
          ASSERT_TRUE(result.finding);
          EXPECT_EQ(result.health == Health::kWrong, step == 5);
          if (result.health != Health::kWrong) continue;
          EXPECT_EQ(result.finding->wrong, std::vector{2});
          EXPECT_NE(result.finding->what.find(begin), std::string::npos) << result.finding->what;
          EXPECT_EQ(result.finding->clean_step, 4);
          if (group->rank() == 2) continue;
          EXPECT_EQ(state.networks[0].parameters.trainable, before) << "as it was";
        }
      });
    }
  }
}

TEST(AuditedUpdate, OfTwoWhoseSumsDifferBothAreSuspects) {
  job::Job job = job_of(2, 1);
  job.train.audit.fault = {.in = "message", .worker = 1, .step = 5};
  for (const Outcome& one : outcomes(2, job, [](int, int, int) { return false; })) {
    EXPECT_FALSE(one.applied);
    ASSERT_TRUE(one.result.finding);
    EXPECT_EQ(one.result.finding->suspects, (std::vector{0, 1}));
    EXPECT_TRUE(one.result.finding->wrong.empty());
  }
}

}  // namespace
}  // namespace linac::train
