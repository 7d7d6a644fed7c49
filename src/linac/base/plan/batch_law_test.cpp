#include "linac/base/plan/batch_law.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/plan/estimate.h"

namespace linac::plan {
namespace {

Measured of_sixteen() {
  Measured found;
  found.batch = 16;
  found.wave_s = 0.08;
  found.fixed_s = 0.01;
  found.step_cpu_s = 0.16;
  found.memory_gib = 1;
  found.test_s = 0.4;
  found.flop = 1e9;
  found.replicas = 2;
  found.pair_s = 0.1;
  found.pair_cpu_s = 0.18;
  found.updates = {{.buckets = {{1e6, 0.02}}, .beside_s = 0.03}};
  return found;
}

Measured of_two() {
  Measured found = of_sixteen();
  found.at_batches = {{64, 0.2, 0.022, 0.4, 1.6}};
  return found;
}

TEST(BatchLaw, IsTheLineThroughTwo) {
  EXPECT_TRUE(has_batch_law(of_two()));
  const Measured between = at_batch(of_two(), 40);
  EXPECT_NEAR(between.wave_s, 0.14, 1e-12);
  EXPECT_NEAR(between.fixed_s, 0.016, 1e-12);
  EXPECT_NEAR(between.step_cpu_s, 0.28, 1e-12);
  EXPECT_NEAR(between.memory_gib, 1.3, 1e-12);
  EXPECT_NEAR(between.flop, 2.5e9, 1);
  EXPECT_EQ(between.batch, 40);
  EXPECT_NEAR(between.test_s.value(), 0.4 * (0.14 / 0.08) / 2.5, 1e-12) << "as many events, each as in a step";
  EXPECT_NEAR(between.updates[0].beside_s, 0.03 * 0.156 / 0.09, 1e-12);
  EXPECT_NEAR(between.pair_s.value() - between.step_s(), 0.01, 1e-12) << "the exchange is what it was";
  EXPECT_NEAR(between.pair_cpu_s - between.step_cpu_s, 0.02, 1e-12);
  EXPECT_NEAR(at_batch(of_two(), 8).wave_s, 0.06, 1e-12);
  EXPECT_NEAR(at_batch(of_two(), 128).wave_s, 0.36, 1e-12);
}

TEST(BatchLaw, WhatWasMeasuredIsNotDoubted) {
  EXPECT_EQ(at_batch(of_two(), 16).doubt, 0);
  EXPECT_EQ(at_batch(of_two(), 64).wave_s, 0.2);
  EXPECT_EQ(at_batch(of_two(), 64).doubt, 0);
  const double between = at_batch(of_two(), 40).doubt, beyond = at_batch(of_two(), 128).doubt;
  EXPECT_GT(between, 0);
  EXPECT_GT(beyond, between);
  EXPECT_GT(at_batch(of_two(), 512).doubt, beyond) << "further off";
  EXPECT_GT(at_batch(of_two(), 4).doubt, between);
}

TEST(BatchLaw, OfSeveralTheNearestCount) {
  Measured three = of_two();
  three.at_batches.push_back({32, 0.1, 0.012, 0.2, 1.2});
  EXPECT_NEAR(at_batch(three, 24).wave_s, 0.09, 1e-12);
  EXPECT_NEAR(at_batch(three, 48).wave_s, 0.15, 1e-12);
  EXPECT_NEAR(at_batch(three, 8).wave_s, 0.07, 1e-12);
}

TEST(BatchLaw, NoLineGoesBelowZero) {
  Measured steep = of_sixteen();
  steep.at_batches = {{64, 0.8, 0, 1.6, 9}};
  const Measured one = at_batch(steep, 1);
  EXPECT_GT(one.wave_s, 0);
  EXPECT_GT(one.memory_gib, 0);
  EXPECT_GE(one.fixed_s, 0);
}

TEST(BatchLaw, OneBatchTellsTwoEnds) {
  Measured one = of_sixteen();
  EXPECT_FALSE(has_batch_law(one));
  one.at_batches = {{16, 0.09, 0, 0, 0}};
  EXPECT_FALSE(has_batch_law(one)) << "the same batch twice is no line";
  const Measured four_times = at_batch(one, 64);
  EXPECT_NEAR(four_times.wave_s, 0.16, 1e-12);
  const Interval interval = Estimate{four_times.wave_s, four_times.doubt}.interval();
  EXPECT_NEAR(interval.low, 0.08, 1e-9) << "as long as one of sixteen";
  EXPECT_NEAR(interval.high, 0.32, 1e-9) << "or in proportion";
  EXPECT_EQ(four_times.memory_gib, 4);
  EXPECT_EQ(at_batch(one, 4).memory_gib, 1) << "the most that is known";
}

TEST(BatchLaw, SlowedTakesAllWithIt) {
  const Measured twice = slowed(of_two(), 2, 0.6);
  EXPECT_NEAR(twice.wave_s, 0.16, 1e-12);
  EXPECT_NEAR(twice.fixed_s, 0.01, 1e-12);
  EXPECT_NEAR(twice.test_s.value(), 0.8, 1e-12);
  EXPECT_NEAR(twice.doubt, 0.6, 1e-12);
  EXPECT_EQ(twice.batch, 16);
}

}  // namespace
}  // namespace linac::plan
