#include "linac/physics/scores/estimate.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linac::scores {
namespace {

// The mean of 0, 1, 2, ... under weights.
std::vector<double> mean_number(Weights weights) {
  double sum = 0, events = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    sum += static_cast<double>(i) * weights[i];
    events += weights[i];
  }
  return {sum / events};
}

TEST(Bootstrap, KnowsTheErrorOfAMean) {
  constexpr size_t kEvents = 2000;
  const Estimate found = bootstrap(kEvents, {.replicas = 500, .seed = 1, .threads = 2}, mean_number)[0];
  const double expected = kEvents / std::sqrt(12.0) / std::sqrt(1.0 * kEvents);
  EXPECT_DOUBLE_EQ(found.value, (kEvents - 1) / 2.0);
  EXPECT_NEAR(found.error / expected, 1, 0.12);
  EXPECT_NEAR((found.high - found.low) / 2 / expected, 1, 0.15);
  EXPECT_LT(found.low, found.value);
  EXPECT_GT(found.high, found.value);
}

TEST(Bootstrap, FollowsFromTheSeed) {
  const auto error = [](uint64_t seed, int threads, int replicas) {
    return bootstrap(50, {.replicas = replicas, .seed = seed, .threads = threads}, mean_number)[0].error;
  };
  EXPECT_EQ(error(1, 1, 150), error(1, 3, 150));
  EXPECT_NE(error(1, 1, 150), error(2, 1, 150));
  EXPECT_TRUE(std::isnan(error(1, 1, 0)));
}

TEST(Bootstrap, LeavesOutWhatIsNoNumber) {
  int calls = 0;
  const Estimate found = bootstrap(10, {.replicas = 10, .seed = 1, .threads = 1}, [&](Weights) {
    const double values[] = {1, NAN, 2, 4};
    return std::vector<double>{values[calls++ % 4]};
  })[0];
  EXPECT_GT(found.error, 0);
  EXPECT_TRUE(std::isfinite(found.low));
}

TEST(Bootstrap, WeighsTheEvents) {
  std::vector<double> weights(2000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 4 == 0 ? 7 : 1;
  const BootstrapOptions options{.replicas = 500, .seed = 1, .threads = 2, .event_weights = weights};
  const Estimate found = bootstrap(weights.size(), options, mean_number)[0];
  EXPECT_DOUBLE_EQ(found.value, mean_number(weights)[0]);
  const double expected = 2000 / std::sqrt(12.0) / std::sqrt(effective_events(weights));
  EXPECT_NEAR(found.error / expected, 1, 0.12);
  EXPECT_DOUBLE_EQ(effective_events(std::vector<double>{2, 2, 2}), 3);
}

TEST(Score, IsFoundByNameAndPart) {
  const std::vector<Score> scores =
      named({{"auc", 0}, {"auc", 1}, {"brier", -1}}, {{.value = 1}, {.value = 2}, {.value = 3}});
  EXPECT_EQ(find(scores, "auc", 1)->value, 2);
  EXPECT_EQ(find(scores, "brier")->value, 3);
  EXPECT_EQ(find(scores, "auc"), nullptr);
}

}  // namespace
}  // namespace linac::scores
