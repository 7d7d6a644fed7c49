#include "linac/physics/scores/roc_band.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/rng.h"
#include "linac/physics/scores/roc.h"

namespace linac::scores {
namespace {

// Normal scores, those of signal one standard deviation higher.
struct Made {
  std::vector<float> scores;
  std::vector<uint8_t> is_signal;

  explicit Made(size_t events) : scores(events) {
    fill_normal({.seed = 5}, scores);
    for (size_t i = 0; i < events; ++i) {
      is_signal.push_back(i % 2 == 0 ? 1 : 0);
      if (is_signal[i] != 0) scores[i] += 1;
    }
  }
};

TEST(RocBand, ItsValuesLieOnTheCurve) {
  const std::vector<float> scores{4, 3, 2, 2, 1};
  const std::vector<uint8_t> is_signal{1, 0, 1, 0, 1};
  const auto values = band_values(Ranking(scores, is_signal), {});
  const auto at = [&](double fpr) { return values[static_cast<size_t>(std::lround(100 * std::sqrt(fpr)))]; };
  EXPECT_NEAR(at(0), 1.0 / 3, 1e-12) << "the first signal passes before any background";
  EXPECT_NEAR(at(0.25), 1.0 / 3, 1e-12);
  EXPECT_NEAR(at(0.81), 1.0 / 3 + 0.62 / 3, 1e-12) << "straight through the two of one score";
  EXPECT_NEAR(at(1), 2.0 / 3, 1e-12);
  const size_t half = band_fprs().size() + 49;
  EXPECT_NEAR(values[half], 1 / 0.75, 1e-12) << "half of the signal passes amid the two of one score";
  const RankFigures figures = rank_figures(Ranking(scores, is_signal));
  EXPECT_EQ(values[half], figures.rejection[0]);
}

TEST(RocBand, ItsWidthIsThatOfItsEvents) {
  const Made made(4000);
  const Ranking ranking(made.scores, made.is_signal);
  const auto evaluate = [&](Weights weights) { return band_values(ranking, weights); };
  const RocBand band = band_of(bootstrap(made.scores.size(), {.replicas = 200}, evaluate));
  const Estimate& middle = band.tpr[40];  // at a background efficiency of 0.16
  EXPECT_LT(middle.low, middle.value);
  EXPECT_GT(middle.high, middle.value);
  // tpr's own error and that of the threshold, whose slope here is the ratio of the two densities.
  const double z = 0.9945, slope = std::exp(z - 0.5), p = middle.value;
  const double error = std::sqrt(p * (1 - p) / 2000 + slope * slope * 0.16 * 0.84 / 2000);
  EXPECT_NEAR(middle.error, error, 0.2 * error);
}

TEST(RocBand, OneClassAloneHasNone) {
  const std::vector<float> scores{1, 2};
  const std::vector<uint8_t> is_signal{1, 1};
  for (const double value : band_values(Ranking(scores, is_signal), {})) EXPECT_TRUE(std::isnan(value));
}

}  // namespace
}  // namespace linac::scores
