#include "linac/control/tune/population.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <random>

#include "linac/base/base/test_errors.h"
#include "linac/control/tune/test_studies.h"

namespace linac::tune {
namespace {

constexpr uint64_t kSeed = 3;
constexpr int64_t kMembers = 6;

PopulationSettings settings(const std::string& method) {
  return {.method = method, .members = kMembers, .quantile = 0.34};
}

/// Carries trials out, up to `parallel` at a time, which end in an order of `shuffle`'s.
History carried_out(const Space& space, const PopulationSettings& chosen, int64_t trials, size_t parallel,
                    uint32_t shuffle, const std::function<void(History&, int64_t)>& end) {
  const Population population(chosen);
  History history(space);
  std::vector<int64_t> running;
  std::mt19937 random(shuffle);
  for (int64_t next = 1; next <= trials || !running.empty();) {
    while (running.size() < parallel && next <= trials && population.waits_for(history, next).empty()) {
      const PopulationStep step = population.next(history, kSeed, next);
      EXPECT_TRUE(space.allows(step.point));
      history.start(next, step.point, step.parent);
      running.push_back(next++);
    }
    std::swap(running[random() % running.size()], running.back());
    end(history, running.back());
    running.pop_back();
  }
  return history;
}

/// Each interval gains by how near the settings are to a place that moves with time.
void gain(History& history, int64_t number) {
  const Trial& trial = *history.find(number);
  const double before = trial.parent == 0 ? 10 : loss_at_end(*history.find(trial.parent));
  const double wanted = 0.2 + 0.05 * static_cast<double>((number - 1) / kMembers);
  double apart = 0;
  for (const double u : trial.unit) apart += (u - wanted) * (u - wanted);
  history.complete(number, {before - std::exp(-8 * apart)});
}

class EveryPopulation : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Methods, EveryPopulation, ::testing::Values("pbt", "pb2"));

TEST_P(EveryPopulation, IsTheSameHoweverManyTrialsRunAtATimeAndWhicheverEndsFirst) {
  for (const Space& space : {testing::numbers(3), testing::mixed({"layers * width <= 1024"})}) {
    const History one = carried_out(space, settings(GetParam()), 42, 1, 1, gain);
    const History many = carried_out(space, settings(GetParam()), 42, kMembers, 2, gain);
    for (int64_t number = 1; number <= 42; ++number) {
      EXPECT_EQ(one.find(number)->unit, many.find(number)->unit) << "trial " << number;
      EXPECT_EQ(one.find(number)->parent, many.find(number)->parent) << "trial " << number;
    }
  }
}

TEST_P(EveryPopulation, TheWorstGoOnFromTheBestWithOtherSettings) {
  const History history = carried_out(testing::numbers(2), settings(GetParam()), 60, 2, 1, gain);
  const Population population(settings(GetParam()));
  for (const Trial& trial : history.trials()) {
    if (population.generation_of(trial.number) == 0) continue;
    const int64_t own = trial.number - kMembers, first = population.generation_of(own) * kMembers + 1;
    std::vector<std::pair<double, int64_t>> ranks;
    for (int64_t i = first; i < first + kMembers; ++i) ranks.emplace_back(loss_at_end(*history.find(i)), i);
    std::sort(ranks.begin(), ranks.end());
    const auto rank =
        std::find(ranks.begin(), ranks.end(), std::pair(loss_at_end(*history.find(own)), own)) - ranks.begin();
    if (rank >= 4) {
      EXPECT_TRUE(trial.parent == ranks[0].second || trial.parent == ranks[1].second) << "trial " << trial.number;
      EXPECT_NE(trial.point, history.find(trial.parent)->point) << "trial " << trial.number;
    } else {
      EXPECT_EQ(trial.parent, own) << "trial " << trial.number;
      EXPECT_EQ(trial.point, history.find(own)->point) << "trial " << trial.number;
    }
  }
}

TEST_P(EveryPopulation, GoesOnWhateverIsTold) {
  const double most = std::numeric_limits<double>::max();
  for (const double value : {std::nan(""), 1.0, most, -most}) {
    const History history = carried_out(testing::mixed(), settings(GetParam()), 36, 4, 1, [&](History& all, int64_t i) {
      if (i % 5 == 0) return all.fail(i, "lost");
      all.complete(i, {i % 2 == 0 ? value : 0.5 * value});
    });
    EXPECT_EQ(history.told().size(), 36U);
    for (const Trial& trial : history.trials())
      EXPECT_TRUE(trial.parent == 0 || !std::isnan(value)) << "nobody has a state to go on from";
  }
}

// Otherwise the members keep what they began with.
TEST_P(EveryPopulation, EndsBetterThanMembersThatDoNotLearnFromEachOther) {
  int better = 0;
  for (uint32_t seed = 1; seed <= 5; ++seed) {
    const Space space = testing::numbers(2);
    const Population population(settings(GetParam()));
    double best[2];
    for (const bool alone : {false, true}) {
      History history(space);
      for (int64_t number = 1; number <= 72; ++number) {
        PopulationStep step = population.next(history, seed, number);
        if (alone && number > kMembers) step = {history.find(number - kMembers)->point, number - kMembers};
        history.start(number, step.point, step.parent);
        gain(history, number);
      }
      best[alone ? 1 : 0] = history.best()->losses[0];
    }
    better += best[0] < best[1] ? 1 : 0;
  }
  EXPECT_GE(better, 4);
}

TEST(Population, AGenerationWaitsForTheOneBefore) {
  const Population population(settings("pbt"));
  History history(testing::numbers(1));
  for (int64_t i = 1; i <= kMembers; ++i) {
    EXPECT_TRUE(population.waits_for(history, i).empty());
    history.start(i, population.next(history, kSeed, i).point);
  }
  for (const int64_t i : {1, 2, 4, 6}) history.complete(i, {1});
  EXPECT_EQ(population.waits_for(history, kMembers + 1), (std::vector<int64_t>{3, 5}));
  expect_in(message_of([&] { population.next(history, kSeed, kMembers + 1); }), {"waits", "3, 5"});
}

TEST(Population, WhatIsNotPossibleIsRefused) {
  const auto refused = [](const PopulationSettings& chosen) { return message_of([&] { Population{chosen}; }); };
  expect_in(refused({.method = "pbtt"}), {"population.method", "did you mean 'pbt'?"});
  expect_in(refused({.method = "pbt", .members = 1}), {"population.members"});
  expect_in(refused({.method = "pbt", .interval = 0}), {"population.interval"});
  expect_in(refused({.method = "pbt", .quantile = 0.6}), {"population.quantile"});
  expect_in(refused({.method = "pbt", .quantile = std::nan("")}), {"population.quantile"});
  expect_in(refused({.method = "pbt", .resample = -1}), {"population.resample"});
  History history(testing::numbers(1));
  expect_in(message_of([&] { history.start(7, {0.5}, 3); }), {"trial 7", "trial 3", "not complete"});
}

}  // namespace
}  // namespace linac::tune
