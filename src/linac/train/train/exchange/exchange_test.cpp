#include "linac/train/train/exchange/exchange.h"

#include <gtest/gtest.h>

#include <thread>

#include "linac/base/base/error.h"
#include "linac/train/comm/test_in_process_group.h"
#include "linac/train/train/exchange/replica_update.h"
#include "linac/train/train/exchange/synchronous.h"
#include "linac/train/train/state/share_state.h"

namespace linac::train {
namespace {

job::Job job_of_two_replicas() {
  job::Job job;
  job.train.replicas = 2;
  job.train.optimizer = {};
  job.train.optimizer.name = "sgd";
  return job;
}

TrainState state_of(const job::Job& job) {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a", {4});
  const auto total = static_cast<size_t>(parameters.trainable_layout.total);
  parameters.trainable.assign(total, 0.0F);
  TrainState state;
  state.networks.push_back({"model", parameters, optimizer::Optimizer(job.train.optimizer, total), {}, {}});
  return state;
}

// A rule that counts its updates, and remembers of each rank something else.
class Remembering : public SynchronousExchange {
 public:
  explicit Remembering(const ExchangeParts& parts) : SynchronousExchange(parts), rank_(parts.group.rank()) {}

  using SynchronousExchange::sum;
  void sum(const std::vector<Bucket>& buckets, std::vector<Message>& messages, ReplicaProgress& progress,
           Message& total) override {
    SynchronousExchange::sum(buckets, messages, progress, total);
    std::vector<float>& updates = state_.shared["updates"];
    updates.resize(1);
    ++updates[0];
    state_.own["rank"] = {static_cast<float>(rank_ + 1), updates[0]};
  }
  ExchangeState state() const override { return state_; }
  void restore(const ExchangeState& state) override { state_ = state; }

 private:
  const int rank_;
  ExchangeState state_;
};

std::unique_ptr<Exchange> make_remembering(const ExchangeParts& parts) {
  return std::make_unique<Remembering>(parts);
}

bool update_once(ReplicaUpdate& update, TrainState& state) {
  StepResult result;
  return update.run(
      "", {"loss"}, state, 0, 0.5,
      [&](size_t, const graph::GradientReady&) {
        models::Contribution made;
        made.gradient.assign(state.networks[0].parameters.trainable.size(), 1.0F);
        made.losses = {1};
        made.judge();
        return made;
      },
      StepWish::kNone, result);
}

using Values = ExchangeState::Values;

TEST(Exchange, IsFoundByTheNameOfItsRule) {
  const auto group = comm::make_lone_group();
  const job::Job job = job_of_two_replicas();
  EXPECT_NE(dynamic_cast<SynchronousExchange*>(exchange_named("exact")({job, *group}).get()), nullptr);
  try {
    exchange_named("gossip");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    EXPECT_STREQ(error.what(),
                 "[train] 'gossip' is no rule by which replicas come together (known: exact, local, easgd, "
                 "downpour, eamsgd, gem, hybrid)");
  }
}

TEST(Exchange, TheSynchronousOneKeepsNothing) {
  const auto group = comm::make_lone_group();
  const job::Job job = job_of_two_replicas();
  PhaseClock clock;
  ReplicaUpdate update(job, *group, 1, clock);
  TrainState state = state_of(job);
  update.take_place(state);
  ASSERT_TRUE(update_once(update, state));
  EXPECT_TRUE(state.exchange.shared.empty() && state.exchange.own.empty());
  EXPECT_EQ(encode(state, {}).find("exchange"), std::string::npos);
  EXPECT_EQ(position_text(state).find("exchange"), std::string::npos);
}

TEST(Exchange, ItsStateGoesOnWithTheTraining) {
  const auto group = comm::make_lone_group();
  const job::Job job = job_of_two_replicas();
  PhaseClock clock;
  TrainState state = state_of(job);
  {
    ReplicaUpdate update(job, *group, 1, clock, make_remembering);
    update.take_place(state);
    ASSERT_TRUE(update_once(update, state) && update_once(update, state));
    EXPECT_EQ(state.exchange.shared, (Values{{"updates", {2}}}));
    EXPECT_EQ(state.exchange.own, (Values{{"rank", {1, 2}}}));
  }
  ReplicaUpdate next(job, *group, 1, clock, make_remembering);
  next.take_place(state);
  ASSERT_TRUE(update_once(next, state));
  EXPECT_EQ(state.exchange.shared, (Values{{"updates", {3}}}));
}

TEST(Exchange, ACheckpointHasWhatAllRanksShareAndNothingOfOne) {
  const job::Job job = job_of_two_replicas();
  TrainState state = state_of(job), other = state_of(job), back = state_of(job);
  state.exchange.shared["updates"] = other.exchange.shared["updates"] = {7, 0.5F};
  state.exchange.own["rank"] = {1};
  other.exchange.own["rank"] = {2};
  back.exchange.own["rank"] = {3};
  const std::string bytes = encode(state, {});
  EXPECT_EQ(bytes, encode(other, {})) << "whoever writes it";
  decode(bytes, "test", back);
  EXPECT_EQ(back.exchange.shared, state.exchange.shared);
  EXPECT_TRUE(back.exchange.own.empty());
  EXPECT_EQ(encode(back, {}), bytes);
}

TEST(Exchange, NewcomersGetWhatAllRanksShare) {
  const job::Job job = job_of_two_replicas();
  auto groups = comm::make_in_process_groups(2, std::chrono::seconds(10));
  const std::vector<int> ranks{1, 0};
  std::vector<std::jthread> threads;
  for (auto& group : groups) {
    threads.emplace_back([&] {
      TrainState state = state_of(job);
      state.exchange.own["rank"] = {static_cast<float>(group->rank())};
      if (group->rank() == 1) state.exchange.shared["updates"] = {7, 0.5F};
      share_state(*group, ranks, state);
      EXPECT_EQ(state.exchange.shared, (Values{{"updates", {7, 0.5F}}}));
      EXPECT_EQ(state.exchange.own, group->rank() == 1 ? (Values{{"rank", {1}}}) : Values{});
    });
  }
}

}  // namespace
}  // namespace linac::train
