#include "linac/base/plan/spot_row.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/plan/spot_run.h"

namespace linac::plan {
namespace {

constexpr double kHour_s = 3600;

// 10 h of work, 0.1 h a start, on hosts that live 4 h and are missed for 1 h.
SpotRow row() {
  SpotRow found;
  found.job = {.work_s = 10 * kHour_s, .recovery_s = 0.1 * kHour_s, .checkpoint_s = 600};
  found.life_s = 4 * kHour_s;
  found.gap_s = kHour_s;
  found.spot_price = 1;
  found.on_demand_price = 3;
  return found;
}

SpotRow in(double deadline_h, double on_demand_price = 3) {
  SpotRow found = row();
  found.deadline_s = deadline_h * kHour_s;
  found.on_demand_price = on_demand_price;
  if (on_demand_price > 0) found.job.deadline_s = found.deadline_s;
  return found;
}

TEST(SpotRow, IsWhatThePolicyComesTo) {
  const SpotOutcome found = carried_out(row());
  const SpotForecast policy = spot_forecast(10 * kHour_s, 0, 360, 600, 4 * kHour_s, kHour_s, 1, 3, 7);
  EXPECT_TRUE(found.played);
  EXPECT_NEAR(found.seconds.middle / kHour_s, policy.hours.middle, 0.1 * policy.hours.middle);
  EXPECT_NEAR(found.money.middle, policy.money.middle, 0.1 * policy.money.middle);
  EXPECT_NEAR(found.preemptions, policy.preemptions, 0.5);
  EXPECT_EQ(found.on_demand, 0);
  EXPECT_EQ(found.on_time, 1);
  EXPECT_EQ(carried_out(row()).seconds.middle, found.seconds.middle) << "the same row, the same figures";
  // Who waits for a host pays nothing.
  EXPECT_LT(found.paid_s, found.seconds.middle - kHour_s);
  EXPECT_NEAR(found.money.middle, found.paid_s / kHour_s, 0.1);
}

TEST(SpotRow, MeansAreNearIt) {
  for (const double life_h : {1.0, 4.0, 40.0}) {
    SpotRow one = row();
    one.life_s = life_h * kHour_s;
    const SpotOutcome first = by_means(one), played = carried_out(one);
    EXPECT_FALSE(first.played);
    EXPECT_NEAR(first.seconds.middle / played.seconds.middle, 1, 0.15) << life_h;
    EXPECT_NEAR(first.money.middle / played.money.middle, 1, 0.15) << life_h;
    EXPECT_NEAR(first.paid_s / played.paid_s, 1, 0.15) << life_h;
  }
}

TEST(SpotRow, ADeadlineIsKeptOnHostsThatStay) {
  const SpotOutcome calm = carried_out(in(40)), tight = carried_out(in(12));
  EXPECT_EQ(tight.on_time, 1);
  EXPECT_LE(tight.seconds.interval().high, 12.5 * kHour_s);
  EXPECT_GT(tight.on_demand, 0.1);
  EXPECT_GT(tight.money.middle, 1.2 * calm.money.middle) << "it costs";
  EXPECT_LT(tight.money.middle, 30.5) << "and less than hosts that stay throughout";
  const SpotOutcome alone = carried_out(in(12, 0));
  EXPECT_LT(alone.on_time, 0.5) << "spot alone waits and is late";
  EXPECT_EQ(by_means(in(12)).on_time, 1);
  EXPECT_EQ(carried_out(in(5)).on_time, 0) << "nobody could";
}

TEST(SpotRow, WorkThatIsNotKnownForSureWidensAndMayBeLate) {
  SpotRow unsure = in(12);
  unsure.work_spread = 0.3;
  unsure.queue = {600, 0.5};
  const SpotOutcome found = carried_out(unsure), sure = carried_out(in(12));
  EXPECT_GT(found.money.spread, sure.money.spread);
  EXPECT_GT(found.seconds.spread, sure.seconds.spread);
  EXPECT_LT(found.on_time, 0.9) << "the policy was told ten hours";
  EXPECT_GT(found.on_time, 0.4);
  SpotRow known = row();
  known.work_spread = 0.3;
  known.life_s = 1e9;
  EXPECT_NEAR(carried_out(known).seconds.spread, 0.3, 0.02) << "without chance the work's own";
}

TEST(SpotRow, NeverEndsWhereNoStartComesToAStep) {
  SpotRow hopeless = row();
  hopeless.life_s = 10;
  EXPECT_TRUE(by_means(hopeless).ends) << "e^-36 of the lives see one";
  hopeless.life_s = 0;
  EXPECT_FALSE(by_means(hopeless).ends);
  EXPECT_FALSE(carried_out(hopeless).ends);
  hopeless.on_demand_price = 3;
  hopeless.job.deadline_s = hopeless.deadline_s = 20 * kHour_s;
  const SpotOutcome stays = carried_out(hopeless);
  EXPECT_TRUE(stays.ends);
  EXPECT_NEAR(stays.money.middle, 3 * 10.1, 1.5) << "on demand, with some starts more";
}

TEST(SpotRun, WorkMayTakeMoreThanThePolicyIsTold) {
  const SpotJob job{.work_s = 100, .deadline_s = 1000, .recovery_s = 10, .checkpoint_s = 10};
  const SpotTrace always{.there = true};
  EXPECT_EQ(carry_out(job, SpotMarket(always), SpotSight::kMarket, 150).wall_s, 160);
  EXPECT_EQ(carry_out(job, SpotMarket(always), SpotSight::kMarket, 50).wall_s, 60);
  const SpotTrace never{.there = false};
  const SpotRun late = carry_out({100, 130, 10, 10}, SpotMarket(never), SpotSight::kMarket, 150);
  EXPECT_EQ(late.wall_s, 160) << "it ends late, and it ends";
  EXPECT_EQ(late.on_demand_s, 160);
}

}  // namespace
}  // namespace linac::plan
