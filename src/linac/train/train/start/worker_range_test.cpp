#include "linac/train/train/start/worker_range.h"

#include <gtest/gtest.h>

namespace linac::train {
namespace {

TEST(WorkerRange, IsANumberOrTwo) {
  for (const char* text : {"1", "4", "2:4", "3:3"}) EXPECT_EQ(is_worker_range(text), "") << text;
  for (const char* text : {"", "0", "-1", "4 ", "x", ":4", "2:", "4:2", "0:4", "1:2:3", "99999999999"})
    EXPECT_NE(is_worker_range(text), "") << text;
}

TEST(WorkerRange, StandsForSettingsOfTheJob) {
  EXPECT_EQ(overrides_of_workers("4"), (std::vector<std::string>{"workers=4"}));
  EXPECT_EQ(overrides_of_workers("2:8"), (std::vector<std::string>{"workers=8", "distribution.workers_min=2"}));
}

}  // namespace
}  // namespace linac::train
