#include "linac/base/job/run_energy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/test_errors.h"

namespace linac::job {
namespace {

constexpr double kKwh_j = 3.6e6;

ToldEnergy told(const std::string& machine, double from, double seconds, Measures joules) {
  ToldEnergy one;
  one.machine = machine;
  one.from = from;
  one.seconds = seconds;
  one.joules = std::move(joules);
  one.method = "measured on " + machine;
  return one;
}

double kwh(std::vector<ToldEnergy> all) {
  return energy_of(std::move(all), {}).kwh.value_or(-1);
}

TEST(RunEnergy, AMachineCountsOnceHoweverManyReadIt) {
  const ToldEnergy one = told("a", 1000, 100, {{"processors", kKwh_j}});
  EXPECT_NEAR(kwh({one}), 1, 1e-9);
  EXPECT_NEAR(kwh({one, one, one}), 1, 1e-9);
  EXPECT_NEAR(kwh({one, told("b", 1000, 100, {{"processors", kKwh_j}})}), 2, 1e-9) << "another machine";
  EXPECT_NEAR(kwh({one, told("a", 1000, 100, {{"gpu 0", kKwh_j}})}), 2, 1e-9) << "another meter";
  EXPECT_NEAR(kwh({one, told("a", 1100, 100, {{"processors", kKwh_j}})}), 2, 1e-9) << "a later start";
  EXPECT_NEAR(kwh({one, told("a", 1050, 100, {{"processors", kKwh_j}})}), 1.5, 1e-9) << "for half of the time";
  EXPECT_NEAR(kwh({one, told("a", 1025, 50, {{"processors", kKwh_j}})}), 1.25, 1e-9)
      << "twice the power in the midst, of which the mean counts";
}

TEST(RunEnergy, ModelsAreOfWorkersAndIdlePowerIsApart) {
  ToldEnergy modelled = told("a", 0, 10, {});
  modelled.model_j = kKwh_j;
  ToldEnergy measured = told("b", 0, 10, {{"processors", kKwh_j}});
  measured.idle_w = {{"processors", kKwh_j / 40}};
  const RunEnergy all = energy_of({modelled, modelled, measured, measured}, {500, "a test"});
  EXPECT_NEAR(all.kwh.value(), 3, 1e-9);
  EXPECT_NEAR(all.model_kwh.value(), 2, 1e-9);
  EXPECT_NEAR(all.idle_kwh.value(), 0.25, 1e-9);
  EXPECT_NEAR(all.co2_kg.value(), 1.5, 1e-9);
  EXPECT_EQ(all.machines, 2);
  EXPECT_EQ(all.methods,
            (std::vector<std::string>{"measured on a", "measured on b", "500 g of carbon dioxide for a kWh (a test)"}));
  EXPECT_EQ(all.told.size(), 4u);

  const RunEnergy nothing = energy_of({told("a", 0, 10, {})}, {500, "a test"});
  EXPECT_FALSE(nothing.kwh || nothing.co2_kg || nothing.idle_kwh || nothing.model_kwh);
  EXPECT_EQ(nothing.methods.size(), 1u) << "it says why";
}

TEST(RunEnergy, WhatCannotBeIsPassedOver) {
  const ToldEnergy one = told("a", 1000, 100, {{"processors", kKwh_j}});
  for (const double bad : {-1.0, std::nan(""), HUGE_VAL, 1e300}) {
    ToldEnergy other = told("a", 1000, 100, {{"processors", bad}});
    other.model_j = bad;
    EXPECT_NEAR(kwh({one, other}), 1, 1e-9) << bad;
    EXPECT_NEAR(kwh({one, told("a", bad, 100, {{"processors", kKwh_j}})}), 1, 1e-9) << bad;
    EXPECT_NEAR(kwh({one, told("a", 1000, bad, {{"processors", kKwh_j}})}), 1, 1e-9) << bad;
    ToldEnergy idle = one;
    idle.idle_w = {{"processors", bad}};
    EXPECT_FALSE(energy_of({idle}, {}).idle_kwh) << bad;
  }
  EXPECT_NEAR(kwh({one, told("a", 1000, 0, {{"processors", 5}})}), 1, 1e-9) << "no time";
}

TEST(RunEnergy, WhatAWorkerToldLastCounts) {
  WorkerAccount first, second;
  first.host = second.host = "a";
  first.pid = second.pid = 1;  // as in containers
  first.energy = told("a", 0, 10, {{"processors", kKwh_j}});
  second.energy = told("a", 20, 10, {{"processors", kKwh_j}});
  ToldEnergies energies;
  energies.add({first});
  first.energy->seconds = 15;
  first.energy->joules["processors"] = 2 * kKwh_j;
  energies.add({first, second, WorkerAccount{}});
  EXPECT_EQ(energies.list().size(), 2u);
  EXPECT_NEAR(kwh(energies.list()), 3, 1e-9);
}

TEST(RunEnergy, WattsAndCarbonAreTheBudgetsOrThePlans) {
  Planned planned, of_no_time;
  planned.hours = {1, 2, 3};
  planned.kwh = {0.5, 1, 2};
  planned.co2_kg = {0.1, 0.3, 0.5};
  of_no_time.hours = {0, 0, 0};
  of_no_time.kwh = {1, 1, 1};
  EXPECT_EQ(model_watts({.watts = 120}, planned, 4), 120);
  EXPECT_EQ(model_watts({}, planned, 4), 125);
  EXPECT_EQ(model_watts({}, planned, 0), 500);
  EXPECT_EQ(model_watts({}, {}, 4), 0);
  EXPECT_EQ(model_watts({}, of_no_time, 1), 0);
  EXPECT_EQ(carbon_of({.co2_g_per_kwh = 7}, planned).g_per_kwh, 7);
  EXPECT_NEAR(carbon_of({}, planned).g_per_kwh, 300, 1e-9);
  expect_in(carbon_of({}, planned).from, {"plan"});
  EXPECT_EQ(carbon_of({}, {}).g_per_kwh, 0);
}

}  // namespace
}  // namespace linac::job
