#include "linac/base/plan/spot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::plan {
namespace {

constexpr double kHour_s = 3600, kForever = std::numeric_limits<double>::infinity();

// 10 h of work in 20 h, 0.5 h a start, 0.25 h between checkpoints.
const SpotJob kJob{10 * kHour_s, 20 * kHour_s, 0.5 * kHour_s, 0.25 * kHour_s};

// Daly's eq. 20: what an hour of work takes, with checkpoints every `interval_s`.
double slowdown(double interval_s, double cost_s, double between_s) {
  return between_s / interval_s * std::expm1((interval_s + cost_s) / between_s);
}

TEST(CheckpointInterval, DalysCostsLeast) {
  EXPECT_DOUBLE_EQ(young_interval_s(18, 3600), 360);
  for (const double cost_s : {1.0, 60.0, 600.0, 2000.0}) {
    const double daly_s = daly_interval_s(cost_s, 3600);
    double least = kForever;
    for (double interval_s = 1; interval_s < 20000; interval_s *= 1.001)
      least = std::min(least, slowdown(interval_s, cost_s, 3600));
    EXPECT_LT(slowdown(daly_s, cost_s, 3600), least * 1.001) << cost_s;
    EXPECT_LE(slowdown(daly_s, cost_s, 3600), slowdown(young_interval_s(cost_s, 3600), cost_s, 3600)) << cost_s;
  }
  EXPECT_DOUBLE_EQ(daly_interval_s(8000, 3600), 3600) << "a checkpoint longer than two lives";
}

SpotForecast forecast(double deadline_h, double life_h, double gap_h, double recovery_h = 0.1) {
  return spot_forecast(24 * kHour_s, deadline_h * kHour_s, recovery_h * kHour_s, 600, life_h * kHour_s, gap_h * kHour_s,
                       0.3, 1, 7);
}

TEST(SpotForecast, IsThePriceOfTheMarketThatItIs) {
  const SpotForecast calm = forecast(48, kForever, 1);
  EXPECT_NEAR(calm.hours.middle, 24.1, 1e-9);
  EXPECT_NEAR(calm.money.high, 24.1 * 0.3, 1e-9);
  const SpotForecast none = forecast(48, 1, kForever);
  EXPECT_LE(none.hours.high, 48);
  EXPECT_GE(none.money.low, 24.1) << "all on demand";
  EXPECT_LE(none.money.high, 24.1 * 1.05) << "and some starts more";
  EXPECT_EQ(none.preemptions, 0);
  const SpotForecast rough = forecast(36, 4, 2);
  EXPECT_LT(rough.money.low, rough.money.middle);
  EXPECT_LT(rough.money.middle, rough.money.high);
  EXPECT_LT(rough.money.high, 24.5) << "on demand throughout";
  EXPECT_EQ(rough.deadline_held, 1);
  EXPECT_LE(rough.hours.high, 36);
  EXPECT_GT(rough.preemptions, 3);
  EXPECT_EQ(forecast(24, 4, 2).deadline_held, 0) << "nobody could";
  EXPECT_EQ(forecast(36, 4, 2).money.middle, rough.money.middle) << "the same seed";
}

TEST(SpotForecast, NeverWhereNothingComesToAnEnd) {
  EXPECT_EQ(forecast(0, 0.05, 0.05, 2).hours.low, kForever) << "e^-40 of the lives see a first step";
  EXPECT_EQ(forecast(0, 0, 1).money.middle, kForever);
  EXPECT_EQ(forecast(0, 1, kForever).hours.middle, kForever);
  EXPECT_EQ(forecast(48, 0, 0).deadline_held, 1) << "on demand";
  EXPECT_EQ(spot_forecast(0, 0, 0, 0, 0, 0, 0, 0, 1).money.high, 0) << "there is nothing to do";
}

TEST(SpotForecast, RefusesWhatIsNoNumber) {
  const double nan = std::nan("");
  for (const double bad : {nan, -1.0, kForever}) {
    EXPECT_THROW(spot_forecast(bad, 0, 0, 0, 1, 1, 1, 1, 1), Error);
    EXPECT_THROW(spot_forecast(1, bad, 0, 0, 1, 1, 1, 1, 1), Error);
    EXPECT_THROW(spot_forecast(1, 0, bad, 0, 1, 1, 1, 1, 1), Error);
    EXPECT_THROW(spot_forecast(1, 0, 0, bad, 1, 1, 1, 1, 1), Error);
    EXPECT_THROW(spot_forecast(1, 0, 0, 0, 1, 1, bad, 1, 1), Error);
  }
  EXPECT_THROW(spot_forecast(1, 0, 0, 0, nan, 1, 1, 1, 1), Error);
  EXPECT_THROW(spot_forecast(1, 0, 0, 0, 1, -1, 1, 1, 1), Error);
  EXPECT_THROW(spot_forecast(1, 0, 0, 0, 1, 1, 1, 1, 1, 0), Error);
}

TEST(SpotEstimate, IsTheForecastsMedianWhereChanceMattersLittle) {
  for (const double deadline_h : {0.0, 48.0})
    for (const double life_h : {1.0, 4.0, 24.0})
      for (const double gap_h : {0.2, 8.0}) {
        const SpotForecast found = forecast(deadline_h, life_h, gap_h);
        const SpotEstimate guess =
            spot_estimate({24 * kHour_s, deadline_h * kHour_s, 360, 600}, life_h * kHour_s, gap_h * kHour_s, 0.3, 1);
        EXPECT_NEAR(guess.money / found.money.middle, 1, 0.15) << deadline_h << " " << life_h << " " << gap_h;
      }
  EXPECT_NEAR(spot_estimate(kJob, 0, 1, 0.3, 1).money, 10.5, 1e-9) << "on demand";
  EXPECT_NEAR(spot_estimate(kJob, kForever, 1, 0.3, 1).money, 10.5 * 0.3, 1e-9);
  EXPECT_EQ(spot_estimate({10, 0, 1, 1}, 1, kForever, 0.3, 1).hours, kForever);
}

}  // namespace
}  // namespace linac::plan
