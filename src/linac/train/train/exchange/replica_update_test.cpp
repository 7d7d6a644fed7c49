#include "linac/train/train/exchange/replica_update.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <latch>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/model/graph/backward_time.h"
#include "linac/model/graph/place.h"
#include "linac/train/comm/test_in_process_group.h"
#include "linac/train/devices/host_device_group.h"

namespace linac::train {
namespace {

constexpr int kReplicas = 3;
constexpr int64_t kLarge = 400'000, kSmall = 16;

job::Job job_of(const std::string& exchange) {
  job::Job job;
  job.train.replicas = kReplicas;
  job.train.exchange = exchange;
  job.train.optimizer = {};
  job.train.optimizer.name = "sgd";
  return job;
}

TrainState state_of(const job::Job& job) {
  graph::Parameters parameters;
  parameters.trainable_layout.add("a", {kLarge});
  parameters.trainable_layout.add("b", {kSmall});
  parameters.statistics_layout.add("mean", {kSmall});
  parameters.trainable.assign(static_cast<size_t>(parameters.trainable_layout.total), 0.0F);
  parameters.statistics.assign(static_cast<size_t>(parameters.statistics_layout.total), 1.0F);
  const size_t statistics = parameters.statistics.size();
  TrainState state;
  state.networks.push_back({"model",
                            parameters,
                            optimizer::Optimizer(job.train.optimizer, parameters.trainable.size()),
                            {std::vector<float>(statistics, 0.5F), std::vector<float>(statistics, 0.5F)},
                            {}});
  return state;
}

// Replica r's gradient is r + 1 everywhere; told weight by weight, or not at all.
models::Contribution contribution(const graph::Layout& layout, int replica, const graph::GradientReady& ready) {
  const auto value = static_cast<float>(replica + 1);
  models::Contribution made;
  made.gradient.assign(static_cast<size_t>(layout.total), value);
  made.statistics.assign(kSmall, 3 * value);
  made.losses = {value};
  made.judge();
  if (ready) {
    for (size_t i = layout.slots.size(); i-- > 0;)
      ready(layout.slots[i].offset,
            std::span(made.gradient)
                .subspan(static_cast<size_t>(layout.slots[i].offset), static_cast<size_t>(layout.slots[i].size)));
  }
  return made;
}

Computing with_devices(int replicas_at_a_time, int devices) {
  if (devices == 0) return replicas_at_a_time;
  return {replicas_at_a_time, std::make_shared<devices::HostDeviceGroup>(devices)};
}

TEST(ReplicaUpdate, AppliesTheSumOnEveryWorker) {
  const job::Job job = job_of("fp32");
  for (const auto& [tells, devices] :
       {std::pair{false, 0}, std::pair{true, 0}, std::pair{false, 2}, std::pair{true, 2}, std::pair{true, 3}}) {
    auto groups = comm::make_in_process_groups(2, std::chrono::seconds(10));
    std::vector<std::jthread> workers;
    for (auto& group : groups) {
      workers.emplace_back([&job, &group, tells = tells, devices = devices] {
        PhaseClock clock;
        ReplicaUpdate update(job, *group, with_devices(2, devices), clock);
        update.take_place(state_of(job));
        TrainState state = state_of(job);
        const graph::Layout layout = state.networks[0].parameters.trainable_layout;
        StepResult result;
        size_t beside = 0;
        EXPECT_TRUE(update.run("p/", {"total"}, state, 0, 0.5,
                               [&](size_t i, const graph::GradientReady& ready) {
                                 return contribution(layout, update.owned()[i], tells ? ready : graph::GradientReady{});
                               },
                               group->rank() == 1 ? StepWish::kStop : StepWish::kLeave, result,
                               {.tasks = 1, .run = [&](size_t) { ++beside; }}));
        const graph::Parameters& after = state.networks[0].parameters;
        EXPECT_EQ(after.trainable[0], -0.5F * (1 + 2 + 3));
        EXPECT_EQ(after.trainable[static_cast<size_t>(layout.slots[1].offset)], -0.5F * (1 + 2 + 3));
        EXPECT_FLOAT_EQ(after.statistics[0], 0.5F + 0.5F * 6);  // the mean over the replicas
        EXPECT_EQ(result.losses.at("p/total"), 6);
        EXPECT_TRUE(result.stop_requested) << "one worker's wish";
        EXPECT_EQ(result.leaving, 1) << "the other one's, counted once for its replicas";
        EXPECT_EQ(beside, 1u);
      });
    }
  }
}

// Its messages are kept; a weight that no pass comes upon has no gradient.
TEST(ReplicaUpdate, KeepsNothingOfTheUpdateBefore) {
  const job::Job job = job_of("fp32");
  auto groups = comm::make_in_process_groups(1, std::chrono::seconds(10));
  PhaseClock clock;
  ReplicaUpdate update(job, *groups[0], 2, clock);
  update.take_place(state_of(job));
  TrainState state = state_of(job);
  const graph::Layout layout = state.networks[0].parameters.trainable_layout;
  StepResult result;
  const auto run = [&](bool tells, bool all) {
    return update.run(
        "", {"total"}, state, 0, 0.5,
        [&](size_t i, const graph::GradientReady& ready) {
          models::Contribution made =
              contribution(layout, update.owned()[i], tells && all ? ready : graph::GradientReady{});
          if (all) return made;
          made.statistics.clear();
          const auto last = static_cast<size_t>(layout.slots[1].offset);
          if (tells) ready(layout.slots[1].offset, std::span(made.gradient).subspan(last));
          std::fill(made.gradient.begin(), made.gradient.begin() + layout.slots[1].offset, 0.0F);
          return made;
        },
        StepWish::kNone, result);
  };
  float first = 0, last = 0;
  for (const bool tells : {false, true}) {
    for (const bool all : {true, false}) {
      ASSERT_TRUE(run(tells, all));
      first -= all ? 0.5F * (1 + 2 + 3) : 0;
      last -= 0.5F * (1 + 2 + 3);
      const graph::Parameters& after = state.networks[0].parameters;
      EXPECT_EQ(after.trainable[0], first) << tells << all;
      EXPECT_EQ(after.trainable[static_cast<size_t>(layout.slots[1].offset)], last) << tells << all;
    }
  }
}

// Rank 1 goes on for long once rank 0 has nothing left to compute.
TEST(ReplicaUpdate, TellsWhereTheTimeOfAStepGoes) {
  constexpr double kPauseS = 0.02;
  const auto pause = [&] { std::this_thread::sleep_for(std::chrono::duration<double>(kPauseS)); };
  const job::Job job = job_of("fp32");
  auto groups = comm::make_in_process_groups(2, std::chrono::seconds(10));
  std::latch first_done(1);
  const auto work = [&](comm::Group& group) {
    PhaseClock clock;
    ReplicaUpdate update(job, group, 1, clock);
    update.take_place(state_of(job));
    TrainState state = state_of(job);
    state.networks.push_back(state.networks[0]);
    state.networks[1].name = "other";
    const auto compute = [&](size_t i, const graph::GradientReady&) {
      if (group.rank() == 1 && i == 0) {
        first_done.wait();
        pause();
        const graph::BackwardTime back;
        pause();
      }
      return contribution(state.networks[0].parameters.trainable_layout, update.owned()[i], {});
    };
    const auto beside = [&](size_t) {
      pause();
      if (group.rank() == 0) first_done.count_down();
    };
    StepResult result;
    clock.steps().begin(PhaseClock::now().wall, 0);
    EXPECT_TRUE(update.run("p/", {"total"}, state, 0, 0.5, compute, StepWish::kNone, result,
                           {.tasks = 1, .run = beside, .network = 1}));
    clock.steps().end(PhaseClock::now().wall, 0);
    const job::StepTime& time = clock.steps().counted();
    const auto of_networks = [&](double job::NetworkTime::*seconds) {
      return time.networks.at(0).*seconds + time.networks.at(1).*seconds;
    };
    using job::NetworkTime, job::Phase;
    EXPECT_NEAR(of_networks(&NetworkTime::forward_s) + of_networks(&NetworkTime::backward_s),
                clock[Phase::kCompute].wall, 1e-9);
    EXPECT_NEAR(of_networks(&NetworkTime::sum_s) + of_networks(&NetworkTime::idle_s), clock[Phase::kCommunication].wall,
                1e-9);
    EXPECT_NEAR(of_networks(&NetworkTime::update_s), clock[Phase::kUpdate].wall, 1e-9);
    return time;
  };
  auto other_rank = std::async(std::launch::async, [&] { return work(*groups[1]); });
  std::vector<job::StepTime> told{work(*groups[0])};
  told.push_back(other_rank.get());
  for (job::StepTime& time : told) {
    EXPECT_EQ(time.steps, 1);
    EXPECT_GE(time.of("other").forward_s, kPauseS) << "what is computed beside, for another network";
    EXPECT_EQ(time.of("other").backward_s, 0);
    EXPECT_GE(time.wall_s, kPauseS);
  }
  EXPECT_GE(told[0].of("model").idle_s, kPauseS);
  EXPECT_EQ(told[0].of("model").backward_s, 0);
  EXPECT_GE(told[1].of("model").forward_s, kPauseS);
  EXPECT_GE(told[1].of("model").backward_s, kPauseS);
}

TEST(ReplicaUpdate, ABrokenReplicaLeavesTheNetworkAsItWas) {
  const job::Job job = job_of("fp32");
  const auto group = comm::make_lone_group();
  PhaseClock clock;
  ReplicaUpdate update(job, *group, 1, clock);
  update.take_place(state_of(job));
  TrainState state = state_of(job);
  StepResult result;
  EXPECT_FALSE(update.run(
      "p/", {"total"}, state, 0, 0.5,
      [&](size_t i, const graph::GradientReady&) {
        models::Contribution made =
            contribution(state.networks[0].parameters.trainable_layout, static_cast<int>(i), {});
        made.finite = i != 1;
        return made;
      },
      StepWish::kNone, result));
  EXPECT_EQ(result.health, Health::kNotFinite);
  EXPECT_EQ(result.where, "p on 1 of 3 replicas");
  EXPECT_EQ(state.networks[0].parameters.trainable[0], 0);
}

// Devices of which the second one cannot add.
class BrokenDevices : public devices::HostDeviceGroup {
 public:
  using HostDeviceGroup::HostDeviceGroup;
  void add(int device, float* sum, const float* other, size_t count, comm::Exchange exchange) override {
    if (device == 1) throw environment_error("[devices] device 1: broken");
    HostDeviceGroup::add(device, sum, other, count, exchange);
  }
};

TEST(ReplicaUpdate, ABrokenDeviceEndsTheUpdateWithItsName) {
  job::Job job = job_of("fp32");
  job.train.replicas = 4;
  const auto group = comm::make_lone_group();
  PhaseClock clock;
  ReplicaUpdate update(job, *group, {2, std::make_shared<BrokenDevices>(2)}, clock);
  update.take_place(state_of(job));
  TrainState state = state_of(job);
  StepResult result;
  try {
    update.run(
        "p/", {"total"}, state, 0, 0.5,
        [&](size_t i, const graph::GradientReady& ready) {
          return contribution(state.networks[0].parameters.trainable_layout, static_cast<int>(i), ready);
        },
        StepWish::kNone, result);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kEnvironment);
    EXPECT_STREQ(error.what(), "[devices] device 1: broken");
  }
  EXPECT_EQ(state.networks[0].parameters.trainable[0], 0) << "the network is as it was";
}

TEST(ReplicaUpdate, WeightsOfAnUpdateLieOnTheReplicasDevice) {
  const job::Job job = job_of("fp32");
  const auto group = comm::make_lone_group();
  PhaseClock clock;
  auto devices = std::make_shared<devices::HostDeviceGroup>(2);
  ReplicaUpdate update(job, *group, {3, devices}, clock);
  update.take_place(state_of(job));
  TrainState state = state_of(job);
  const graph::Parameters& parameters = state.networks[0].parameters;
  for (int step = 0; step < 2; ++step) {
    StepResult result;
    update.run(
        "p/", {"total"}, state, 0, 0.5,
        [&](size_t i, const graph::GradientReady& ready) {
          const float* const here = graph::current_place().copy_of(parameters.trainable.data());
          std::vector<float> values(parameters.trainable.size());
          devices->read(i < 2 ? 0 : 1, values, here);  // refused if it is another's memory
          EXPECT_EQ(values, std::vector<float>(parameters.trainable.begin(), parameters.trainable.end()));
          return contribution(parameters.trainable_layout, static_cast<int>(i), ready);
        },
        StepWish::kNone, result);
  }
  EXPECT_EQ(graph::current_place().copies.size(), 0u);
}

TEST(ReplicaUpdate, TellsWhatTravels) {
  const auto group = comm::make_lone_group();
  for (const std::string exchange : {"fp32", "bf16"}) {
    const job::Job job = job_of(exchange);
    PhaseClock clock;
    const ReplicaUpdate update(job, *group, 1, clock);
    const UpdateOutline outline = update.outline("p", state_of(job), 0, 2, true);
    ASSERT_EQ(outline.parts.size(), 2u);
    EXPECT_EQ(outline.parts[0].begin, 0u);
    EXPECT_EQ(outline.parts[0].bytes, (exchange == "bf16" ? 2 : 4) * (kLarge + kSmall));
    EXPECT_EQ(outline.parts[1].begin, static_cast<size_t>(kLarge + kSmall)) << "behind the gradient";
    EXPECT_EQ(outline.parts[1].bytes, 4 * (kSmall + 2 + Message::kFlags))
        << "statistics, losses and flags, never rounded";
  }
}

}  // namespace
}  // namespace linac::train
