#include "linac/train/train/schedule.h"

#include <gtest/gtest.h>

namespace linac::train {
namespace {

TEST(Schedule, ScalesWarmsUpAndDrops) {
  job::Train train;
  train.optimizer.lr = 0.01;
  train.replicas = 4;
  EXPECT_DOUBLE_EQ(learning_rate(train, 0, 0, 10, 0), 0.01);
  train.schedule.scale_with_replicas = "linear";
  EXPECT_DOUBLE_EQ(learning_rate(train, 0, 0, 10, 0), 0.04);
  train.schedule.scale_with_replicas = "sqrt";
  EXPECT_DOUBLE_EQ(learning_rate(train, 0, 0, 10, 0), 0.02);
  train.schedule.warmup_epochs = 1;
  EXPECT_DOUBLE_EQ(learning_rate(train, 0, 0, 10, 0), 0.02 / 11);
  EXPECT_DOUBLE_EQ(learning_rate(train, 0, 9, 10, 0), 0.02 * 10 / 11);
  EXPECT_DOUBLE_EQ(learning_rate(train, 1, 0, 10, 0), 0.02);
  train.schedule.drops = {{2, 0.1}, {3, 0.5}};
  EXPECT_DOUBLE_EQ(learning_rate(train, 2, 0, 10, 0), 0.002);
  EXPECT_DOUBLE_EQ(learning_rate(train, 3, 0, 10, 0), 0.001);
  EXPECT_DOUBLE_EQ(learning_rate(train, 3, 0, 10, 1), 0.0005);
}

}  // namespace
}  // namespace linac::train
