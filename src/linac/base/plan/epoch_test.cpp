#include "linac/base/plan/epoch.h"

#include <gtest/gtest.h>

namespace linac::plan {
namespace {

TEST(ExpectedMaximum, OfNormalNumbers) {
  // 1 / sqrt(pi), 3 / (2 sqrt(pi)); the others from H. L. Harter, Biometrika 48 (1961) 151.
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.5641896, 1e-5);
  EXPECT_NEAR(expected_maximum(3), 0.8462844, 1e-5);
  EXPECT_NEAR(expected_maximum(8), 1.42360, 1e-5);
  EXPECT_NEAR(expected_maximum(100), 2.50759, 1e-5);
  EXPECT_GT(expected_maximum(65536), expected_maximum(1024));
}

TEST(Epoch, HasWholeSteps) {
  Epoch epoch{.events = 100, .batch = 10, .workers = 3, .step_s = 2};
  EXPECT_EQ(epoch_time(epoch).steps, 4);
  EXPECT_EQ(epoch_time(epoch).seconds, 8);
  epoch.lead_steps = 1;
  epoch.fixed_s = 5;
  EXPECT_EQ(epoch_time(epoch).seconds, 15);
  epoch.events = 1;
  EXPECT_EQ(epoch_time(epoch).steps, 1);
  epoch = {.events = INT64_MAX, .batch = INT64_MAX, .workers = 1 << 20, .step_s = 1};
  EXPECT_EQ(epoch_time(epoch).steps, 1);
  epoch.batch = 1;
  EXPECT_EQ(epoch_time(epoch).steps, int64_t{1} << 43);
}

TEST(Epoch, WaitsForTheSlowest) {
  const Epoch epoch{.events = 8, .workers = 8, .step_s = 10, .jitter = 0.02};
  EXPECT_NEAR(epoch_time(epoch).waiting_s, 0.28472, 1e-5);
  EXPECT_NEAR(epoch_time(epoch).seconds, 10.28472, 1e-5);
}

TEST(Epoch, SumsBetweenHostsAlone) {
  Epoch epoch{.events = 16, .workers = 8, .workers_per_host = 8, .step_s = 1, .updates = {{{{1e6, 0}}}}};
  epoch.link = {.bytes_per_s = 1e6, .latency_s = 0, .message_s = 0};
  EXPECT_EQ(epoch_time(epoch).exposed_s, 0);
  epoch.workers = 16;
  EXPECT_NEAR(epoch_time(epoch).exposed_s, 1, 1e-9) << "half a megabyte each way, twice";
}

TEST(Epoch, GivesBackTheStepThatItCameFrom) {
  Epoch epoch{.events = 1000, .batch = 7, .workers = 12, .workers_per_host = 4, .step_s = 0.5, .jitter = 0.1};
  epoch.lead_steps = 2;
  epoch.fixed_s = 3;
  epoch.updates = {{{{1e7, 0}}}, {{{1e6, 0}}}};
  EXPECT_NEAR(step_s_of(epoch, epoch_time(epoch).seconds), 0.5, 1e-12);
  EXPECT_LT(step_s_of(epoch, 1), 0);
}

}  // namespace
}  // namespace linac::plan
