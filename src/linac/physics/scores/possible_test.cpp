#include "linac/physics/scores/possible.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace linac::scores {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

std::vector<ScoreName> kept(std::vector<Score>& scores, std::vector<Score>& difference,
                            const BootstrapOptions& options) {
  const std::array<std::vector<Score>*, 1> models{&scores};
  return keep_possible(models, difference, std::array{1000.0}, options);
}

TEST(EventsAtMost, AreThoseOfTheReviewOfParticlePhysics) {
  // Table 40.3, upper limits at 95 % for n observed events.
  EXPECT_NEAR(events_at_most(0), 3.00, 0.005);
  EXPECT_NEAR(events_at_most(1), 4.74, 0.005);
  EXPECT_NEAR(events_at_most(5), 10.51, 0.005);
  EXPECT_NEAR(events_at_most(10), 16.96, 0.005);
  EXPECT_NEAR(events_at_most(1e4), 1e4 + 1.645 * 100, 3);
}

TEST(KeepPossible, LimitsRejectionsOfFewEvents) {
  std::vector<Score> scores{{"rejection_50", 0, {.value = 40, .error = 70, .low = 20, .high = 90}},
                            {"rejection_80", 0, {.value = 40, .error = 7, .low = 33, .high = 48}},
                            {"rejection_90", 0, {.value = kInfinity}},
                            {"rejection_95", 0, {.value = 100, .error = kNan}}};
  std::vector<Score> difference = scores;
  EXPECT_TRUE(kept(scores, difference, {}).empty());
  EXPECT_NEAR(scores[0].estimate.above, 1000 / events_at_most(25), 1e-3);
  EXPECT_TRUE(std::isnan(scores[0].estimate.error) && std::isnan(scores[0].estimate.low));
  EXPECT_TRUE(std::isnan(scores[1].estimate.above));
  EXPECT_EQ(scores[1].estimate.error, 7);
  EXPECT_NEAR(scores[2].estimate.above, 1000 / 2.9957, 1e-2) << "none passes";
  EXPECT_FALSE(std::isnan(scores[3].estimate.above)) << "in a replica none passed";
  for (const size_t i : {0, 2, 3}) EXPECT_TRUE(std::isnan(difference[i].estimate.value)) << i;
  EXPECT_EQ(difference[1].estimate.value, 40);
}

TEST(KeepPossible, WithoutReplicasAValueStands) {
  std::vector<Score> scores{{"rejection_50", 0, {.value = 40}}}, none;
  EXPECT_TRUE(kept(scores, none, {.replicas = 0}).empty());
  EXPECT_EQ(scores[0].estimate.value, 40);
  EXPECT_TRUE(std::isnan(scores[0].estimate.above));
}

TEST(KeepPossible, LeavesOutWhatWeightsBelowZeroMakeImpossible) {
  const std::vector<Score> all{{"accuracy", -1, {.value = 1.02, .error = 0.1}},
                               {"recall", 0, {.value = 0.9, .error = 0.1}},
                               {"precision", 0, {.value = 0.9, .error = 0.8}},
                               {"average_precision", 0, {.value = 0.9, .error = 0.1}},
                               {"log_loss", -1, {.value = -0.1}},
                               {"bias", 0, {.value = -0.1, .error = 3}},
                               {"r2", 0, {.value = -4}},
                               {"mse", 0, {.value = 7, .error = 3}}};
  std::vector<Score> scores = all, none;
  const std::vector<ScoreName> left_out = kept(scores, none, {.event_weights = {1, -1, 3}});
  EXPECT_EQ(left_out,
            (std::vector<ScoreName>{{"accuracy", -1}, {"precision", 0}, {"average_precision", 0}, {"log_loss", -1}}));
  for (const auto& [name, part] : left_out) EXPECT_TRUE(std::isnan(find(scores, name, part)->value)) << name;
  EXPECT_EQ(find(scores, "recall", 0)->value, 0.9);
  scores = all;
  EXPECT_TRUE(kept(scores, none, {.event_weights = {1, 0, 3}}).empty()) << "none is below zero";
  EXPECT_EQ(scores[0].estimate.value, 1.02);
}

}  // namespace
}  // namespace linac::scores
