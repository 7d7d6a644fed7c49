#include "linac/base/plan/spot_policy.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace linac::plan {
namespace {

constexpr double kHour_s = 3600, kForever = std::numeric_limits<double>::infinity();

// 10 h of work in 20 h, 0.1 h a start and between checkpoints.
const SpotJob kJob{10 * kHour_s, 20 * kHour_s, 0.1 * kHour_s, 0.1 * kHour_s};
// Lives and gaps of an hour and of ten minutes, and lives of which few see a first step.
const SpotSeen kHours{50 * kHour_s, 50 * kHour_s, 50, 50}, kCalm{1000 * kHour_s, 10 * kHour_s, 50, 50};
const SpotSeen kFlicker{5 * kHour_s, 5 * kHour_s, 50, 50};

Decision at(double hour, double done_h, SpotPlace place, bool there, const SpotSeen& seen = {},
            const SpotJob& job = kJob) {
  return decide(job, {hour * kHour_s, done_h * kHour_s, place, there, seen});
}

TEST(SpotPolicy, TakesSpotThatIsThereAndStays) {
  EXPECT_EQ(at(0, 0, SpotPlace::kNone, true).place, SpotPlace::kSpot);
  EXPECT_EQ(at(5, 0, SpotPlace::kOnDemand, true).place, SpotPlace::kSpot);
  EXPECT_EQ(at(19.9, 1, SpotPlace::kSpot, true).place, SpotPlace::kSpot) << "it had been begun in time";
}

TEST(SpotPolicy, WaitsUntilTheSlackThatIsKeptBack) {
  // With lives and gaps of an hour 10 h meet five of each: 1.5 times 5 times 0.25 h are kept back, about.
  const Decision waits = at(0, 0, SpotPlace::kNone, false, kHours);
  EXPECT_EQ(waits.place, SpotPlace::kNone);
  EXPECT_NEAR(waits.until_s, (10 - 0.3 - 1.5 * 5 * 0.25) * kHour_s, 0.1 * kHour_s);
  EXPECT_EQ(at(8, 0, SpotPlace::kNone, false, kHours).place, SpotPlace::kOnDemand);
  EXPECT_EQ(at(8, 0, SpotPlace::kOnDemand, true, kHours).place, SpotPlace::kSpot) << "what it is kept back for";
  EXPECT_EQ(at(8 + 9, 9, SpotPlace::kNone, false, kHours).place, SpotPlace::kNone) << "less work is left";
  EXPECT_GT(at(0, 0, SpotPlace::kNone, false, kCalm).until_s, 9.5 * kHour_s) << "few changes are to come";
}

TEST(SpotPolicy, LeavesAMachineOnDemandWithMuchSlackAlone) {
  EXPECT_EQ(at(2, 0, SpotPlace::kOnDemand, false, kHours).place, SpotPlace::kNone);
  EXPECT_EQ(at(6, 0, SpotPlace::kOnDemand, false, kHours).place, SpotPlace::kOnDemand) << "2 gaps and 20 starts";
  EXPECT_EQ(at(6, 0, SpotPlace::kOnDemand, false, kHours).until_s, kForever);
}

TEST(SpotPolicy, KeepsNothingBackWhereAChangeSavesNothing) {
  EXPECT_NEAR(at(0, 0, SpotPlace::kNone, false, kFlicker).until_s, 9.7 * kHour_s, 1);
  EXPECT_EQ(at(8, 0, SpotPlace::kOnDemand, true, kFlicker).place, SpotPlace::kOnDemand);
  SpotJob dear = kJob;
  dear.price_part = 0.9;
  EXPECT_EQ(at(8, 0, SpotPlace::kOnDemand, true, kHours, dear).place, SpotPlace::kOnDemand);
}

TEST(SpotPolicy, LooksForSpotWhereItIsNotSeen) {
  const auto unseen = [](double hours, const SpotSeen& seen, double now_h = 8) {
    return decide(kJob, {now_h * kHour_s, 0, SpotPlace::kOnDemand, false, seen, hours * kHour_s});
  };
  EXPECT_EQ(unseen(0, kHours).place, SpotPlace::kOnDemand);
  EXPECT_NEAR(unseen(0.25, kHours).until_s, (8 + 0.75) * kHour_s, 1) << "ten starts on demand";
  EXPECT_EQ(unseen(1, kHours).place, SpotPlace::kNone);
  EXPECT_EQ(unseen(100, kFlicker).place, SpotPlace::kOnDemand) << "such spot is not worth a start";
  EXPECT_EQ(unseen(100, {0, 1000 * kHour_s, 0, 0}).place, SpotPlace::kOnDemand) << "nor is what is never there";
  EXPECT_EQ(unseen(100, kHours, 9.8).place, SpotPlace::kOnDemand) << "nor where the deadline is near";
}

TEST(SpotPolicy, GoesOnDemandForGoodWhereOneMoreStartCouldCostTheDeadline) {
  // 2 starts, a checkpoint's work and 5 h that are left: 5.3 h before the end.
  for (const bool there : {false, true}) {
    EXPECT_EQ(at(14.71, 5, SpotPlace::kNone, there).place, SpotPlace::kOnDemand);
    EXPECT_EQ(at(14.71, 5, SpotPlace::kNone, there).until_s, kForever);
  }
  EXPECT_EQ(at(14.69, 5, SpotPlace::kNone, true).place, SpotPlace::kSpot);
  EXPECT_EQ(at(14.71, 5, SpotPlace::kOnDemand, true).place, SpotPlace::kOnDemand);
  EXPECT_EQ(at(0, 0, SpotPlace::kNone, true, {}, {10, 9, 0, 0}).place, SpotPlace::kOnDemand) << "too late at the begin";
}

TEST(SpotPolicy, WaitsForeverWithoutADeadline) {
  const SpotJob job{10, 0, 1, 1};
  EXPECT_EQ(at(1e6, 0, SpotPlace::kNone, false, {}, job).place, SpotPlace::kNone);
  EXPECT_EQ(at(1e6, 0, SpotPlace::kNone, true, {}, job).place, SpotPlace::kSpot);
}

TEST(SpotPolicy, SurvivesWhatIsNought) {
  for (const double recovery_s : {0.0, 10.0})
    for (const SpotSeen& seen : {SpotSeen{}, SpotSeen{0, 0, 9, 9}, SpotSeen{1e9, 0, 0, 1}})
      for (const bool there : {false, true}) {
        const SpotJob job{100, 300, recovery_s, 0};
        const Decision decision = decide(job, {50, 0, SpotPlace::kNone, there, seen, {}});
        EXPECT_FALSE(std::isnan(decision.until_s));
        EXPECT_EQ(decision.place == SpotPlace::kSpot, there);
      }
}

TEST(SpotPolicy, AMachineDoesTheWorkOfWholePartsBetweenCheckpoints) {
  EXPECT_EQ(work_of_a_life_s(kJob, 0), 0);
  EXPECT_EQ(work_of_a_life_s(kJob, kForever), kForever);
  EXPECT_NEAR(work_of_a_life_s({1, 0, 0, 0}, 7), 7, 1e-12);
  EXPECT_NEAR(work_of_a_life_s({1, 0, 0, 1e-3}, 7), 7, 1e-3);
  EXPECT_LT(work_of_a_life_s({1, 0, 1, 1}, 7), 7 - 1 - 0.3);
}

}  // namespace
}  // namespace linac::plan
