#include "linac/control/tune/history.h"

#include <gtest/gtest.h>

#include <limits>

#include "linac/base/base/test_errors.h"
#include "linac/control/tune/test_studies.h"

namespace linac::tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(History, WhatIsNoNumberIsAResult) {
  History history(testing::numbers(1));
  int64_t number = 0;
  for (const double value : {std::nan(""), kInfinity, -kInfinity}) {
    history.start(number, {0.5});
    history.complete(number, {value});
    EXPECT_EQ(history.find(number)->state, State::kInfeasible);
    EXPECT_NE(history.find(number)->reason.find("objective 0 is"), std::string::npos);
    ++number;
  }
  EXPECT_EQ(history.complete_count(), 0U);
  EXPECT_EQ(history.best(), nullptr);
  EXPECT_EQ(history.told().size(), 3U);
}

TEST(History, MaximizedValuesAreLossesWithTheOtherSign) {
  History history(testing::numbers(1), {Direction::kMaximize});
  for (int64_t i = 0; i < 3; ++i) {
    history.start(i, {0.1 * static_cast<double>(i)});
    history.report(i, 1, 5);
    history.complete(i, {i == 1 ? 9.0 : 2.0});
  }
  EXPECT_EQ(history.best()->number, 1);
  EXPECT_EQ(history.best()->losses[0], -9);
  EXPECT_EQ(history.best()->values[0], 9);
  EXPECT_EQ(history.best()->curve[0].second, -5);
}

TEST(History, KnowsWhatTrialsCost) {
  History history(testing::numbers(1));
  for (int64_t i = 0; i < 3; ++i) history.start(i, {0.1 * static_cast<double>(i)});
  history.spend(0, 2.5);
  const uint64_t before = history.fingerprint(0);
  history.fail(0, "lost");
  history.spend(1, 0);
  history.prune(1, "bad");
  EXPECT_EQ(history.spent(), 2.5) << "of any end";
  EXPECT_TRUE(std::isnan(history.find(2)->cost));
  for (const double cost : {-1.0, std::nan(""), kInfinity}) {
    expect_in(message_of([&] { history.spend(2, cost); }), {"trial 2", "cost"});
    expect_in(message_of([&] { history.set_budget(cost); }), {"budget", "cost"});
  }
  expect_in(message_of([&] { history.spend(0, 1); }), {"trial 0", "has ended"});
  history.spend(2, 1);
  expect_in(message_of([&] { history.spend(2, 1); }), {"trial 2", "told before"});
  History other(testing::numbers(1));
  other.start(0, {0});
  EXPECT_EQ(other.fingerprint(0), before);
  other.fail(0, "lost");
  EXPECT_NE(other.fingerprint(1), history.fingerprint(1)) << "a cost is part of it";
}

TEST(History, KeepsWhatWasTold) {
  History history(testing::mixed());
  const Point point = history.space().point_of(std::vector<double>{0.9, 0.5, 0.5, 0.5, 0.5, 0.5});
  history.start(3, point);
  EXPECT_TRUE(history.seen(point));
  expect_in(message_of([&] { history.start(3, point); }), {"trial 3", "started before"});
  Point strange = point;
  strange[2] = 1;  // inactive for trees
  expect_in(message_of([&] { history.start(4, strange); }), {"trial 4", "layers = 1 is not in the space"});
  strange = point;
  strange[1] = 1;
  expect_in(message_of([&] { history.start(4, strange); }), {"rate = 1 is not"});
  history.report(3, 2, std::nan(""));
  EXPECT_EQ(history.find(3)->curve[0].second, kInfinity);
  expect_in(message_of([&] { history.report(3, 2, 1); }), {"step 2 is not after step 2"});
  expect_in(message_of([&] { history.complete(3, {1, 2}); }), {"2 values for 1 objectives"});
  history.fail(3, "preempted");
  expect_in(message_of([&] { history.complete(3, {1}); }), {"has ended"});
  expect_in(message_of([&] { history.prune(9, ""); }), {"trial 9", "none of this number"});
}

TEST(History, AFingerprintKnowsWhatWasTold) {
  History one(testing::numbers(1)), other(testing::numbers(1));
  for (History* history : {&one, &other}) {
    history->start(0, {0.1});
    history->start(1, {0.2});
  }
  EXPECT_EQ(one.fingerprint(0), other.fingerprint(0));
  one.complete(0, {1});
  other.complete(1, {1});
  EXPECT_NE(one.fingerprint(1), other.fingerprint(1)) << "another order";
}

}  // namespace
}  // namespace linac::tune
