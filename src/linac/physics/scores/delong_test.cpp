#include "linac/physics/scores/delong.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/physics/scores/estimate.h"
#include "linac/physics/scores/roc.h"
#include "linac/physics/scores/test_events.h"

namespace linac::scores {
namespace {

TEST(DeLong, PlacementsAverageToTheAuc) {
  const std::vector<float> scores{2, 2, 1, 1, 3};
  const std::vector<uint8_t> is{1, 0, 1, 0, 0};
  // The positive 2 ties with 2, beats 1 and loses to 3; the positive 1 ties with 1.
  EXPECT_EQ(placements(scores, is), (std::vector<double>{0.5, 0.25, 0.5 / 3, 0.75, 0}));
  const double area = auc(scores, is);
  EXPECT_NEAR((0.5 + 0.5 / 3) / 2, area, 1e-12);
  EXPECT_NEAR((0.25 + 0.75) / 3, area, 1e-12);
}

TEST(DeLong, ErrorByHand) {
  // Placements 1 and 1/2 of the positives, 1/2 and 1 of the negatives: variance (1/8) / 2 of either mean.
  const std::vector<float> scores{4, 2, 3, 1};
  const std::vector<uint8_t> is{1, 1, 0, 0};
  EXPECT_NEAR(delong_error(placements(scores, is), is), std::sqrt(0.125), 1e-12);
  const std::vector<uint8_t> single{1, 0, 0, 0};
  EXPECT_TRUE(std::isnan(delong_error(placements(scores, single), single)));
}

TEST(DeLong, AgreesWithTheBootstrap) {
  const testing::Scored events = testing::normal_scores(3000, 0.3, 1, 5);
  const Ranking ranking(events.scores, events.is_positive);
  const auto found = bootstrap(3000, {.replicas = 1000, .seed = 2, .threads = 2}, [&](Weights weights) {
    return std::vector<double>{rank_figures(ranking, weights).auc};
  });
  const double error = delong_error(placements(events.scores, events.is_positive), events.is_positive);
  EXPECT_NEAR(found[0].error / error, 1, 0.1) << "a spread of 1000 numbers is known to 2.2 %";
  EXPECT_NEAR((found[0].high - found[0].low) / 2 / error, 1, 0.15);
}

TEST(DeLong, AgreesWithTheBootstrapOfWeightedEvents) {
  const testing::Scored events = testing::normal_scores(3000, 0.3, 1, 5);
  std::vector<double> weights(3000);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = i % 10 == 0 ? -0.5 : 1 + static_cast<double>(i % 5);
  const Ranking ranking(events.scores, events.is_positive);
  const BootstrapOptions options{.replicas = 1000, .seed = 2, .threads = 2, .event_weights = weights};
  const auto found =
      bootstrap(3000, options, [&](Weights drawn) { return std::vector<double>{rank_figures(ranking, drawn).auc}; });
  const std::vector<double> places = placements(events.scores, events.is_positive, weights);
  EXPECT_NEAR(found[0].error / delong_error(places, events.is_positive, weights), 1, 0.1);
  double sum = 0, whole = 0;
  for (size_t i = 0; i < places.size(); ++i) {
    if (events.is_positive[i] == 0) continue;
    sum += weights[i] * places[i];
    whole += weights[i];
  }
  EXPECT_NEAR(sum / whole, found[0].value, 1e-12) << "the mean of the placements is the AUC";
}

TEST(DeLong, ErrorOfADifferenceKnowsTheCorrelation) {
  testing::Scored a = testing::normal_scores(3000, 0.3, 1, 5), b = a;
  const testing::Scored noise = testing::normal_scores(3000, 0, 0, 6);
  for (size_t i = 0; i < b.scores.size(); ++i) b.scores[i] += 0.3F * noise.scores[i];
  const Ranking first(a.scores, a.is_positive), second(b.scores, a.is_positive);
  const auto evaluate = [](const Ranking& ranking) {
    return [&ranking](Weights weights) { return std::vector<double>{rank_figures(ranking, weights).auc}; };
  };
  const auto found =
      bootstrap_with_difference(3000, {.replicas = 1000, .seed = 2, .threads = 2}, {evaluate(first), evaluate(second)});
  ASSERT_EQ(found.size(), 3U);
  EXPECT_DOUBLE_EQ(found[2][0].value, found[0][0].value - found[1][0].value);
  std::vector<double> difference = placements(a.scores, a.is_positive);
  const std::vector<double> other = placements(b.scores, a.is_positive);
  for (size_t i = 0; i < difference.size(); ++i) difference[i] -= other[i];
  const double error = delong_error(difference, a.is_positive);
  EXPECT_NEAR(found[2][0].error / error, 1, 0.1);
  EXPECT_LT(error, 0.6 * found[0][0].error) << "the same events: most of the fluctuation is common";
}

}  // namespace
}  // namespace linac::scores
