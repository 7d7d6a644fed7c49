#include "linac/physics/scores/logits.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace linac::scores {
namespace {

TEST(Logits, BecomeProbabilities) {
  std::vector<float> classes{1, 2, 3, 1000, 0, -1000}, labels{0, 2, -2}, column{0};
  to_probabilities(classes, 3, Task::kClasses);
  const double sum = std::exp(1) + std::exp(2) + std::exp(3);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(classes[i], std::exp(static_cast<double>(i) + 1) / sum, 1e-6);
  EXPECT_EQ(classes[3], 1);
  EXPECT_EQ(classes[5], 0);
  to_probabilities(labels, 3, Task::kLabels);
  EXPECT_EQ(labels[0], 0.5F);
  EXPECT_NEAR(labels[1], 1 / (1 + std::exp(-2)), 1e-6);
  EXPECT_NEAR(labels[1] + labels[2], 1, 1e-6);
  to_probabilities(column, 1, Task::kClasses);
  EXPECT_EQ(column[0], 0.5F);
}

TEST(Task, HasItsNames) {
  for (const Task task : {Task::kClasses, Task::kLabels, Task::kRegression})
    EXPECT_EQ(task_named(to_string(task)), task);
  EXPECT_EQ(task_named("classes"), Task::kClasses);
  EXPECT_FALSE(task_named("class"));
}

}  // namespace
}  // namespace linac::scores
