#include "linac/base/job/target_values.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linac::job {
namespace {

TEST(TargetValues, AreThoseThatTheLossIsDefinedFor) {
  const ValueRange classes = target_values("sparse_categorical_crossentropy", 5);
  EXPECT_EQ(classes.min, 0);
  EXPECT_EQ(classes.max, 4);
  EXPECT_TRUE(classes.whole);
  const ValueRange binary = target_values("binary_crossentropy", 1);
  EXPECT_EQ(binary.min, 0);
  EXPECT_EQ(binary.max, 1);
  EXPECT_FALSE(binary.whole);
  EXPECT_EQ(target_values("hinge", 1).min, -1);
  EXPECT_EQ(target_values("poisson", 1).min, 0);
  EXPECT_TRUE(std::isinf(target_values("poisson", 1).max));
  EXPECT_TRUE(std::isinf(target_values("mean_squared_error", 1).min));
}

TEST(TargetValues, ThoseOfSparseLossesAreNotSmoothed) {
  for (const char* loss : {"categorical_crossentropy", "bce", "binary_focal_crossentropy"})
    EXPECT_TRUE(takes_label_smoothing(loss)) << loss;
  for (const char* loss : {"sparse_categorical_crossentropy", "mean_squared_error", kOutputLoss})
    EXPECT_FALSE(takes_label_smoothing(loss)) << loss;
}

}  // namespace
}  // namespace linac::job
