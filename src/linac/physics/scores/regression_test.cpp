#include "linac/physics/scores/regression.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

Table table(const std::vector<float>& values, size_t width) {
  return {.values = values, .width = width, .name = "values"};
}

TEST(Regression, ByHand) {
  // Residuals 1, -1, 3, 1 of the first output; the second is exact but for 2.
  const std::vector<float> truth{0, 5, 2, 5, 4, 5, 6, 5}, predicted{1, 5, 1, 5, 7, 7, 7, 5};
  const auto judged = judge_regressions(table(truth, 2), {table(predicted, 2)}, {.replicas = 0});
  const auto value = [&](const char* name, int part) { return find(judged.models.at(0).scores, name, part)->value; };
  EXPECT_DOUBLE_EQ(value("mse", 0), 3);
  EXPECT_DOUBLE_EQ(value("mae", 0), 1.5);
  EXPECT_DOUBLE_EQ(value("bias", 0), 1);
  EXPECT_DOUBLE_EQ(value("resolution", 0), std::sqrt(2.0));
  EXPECT_DOUBLE_EQ(value("r2", 0), 1 - 3.0 / 5);
  EXPECT_DOUBLE_EQ(value("mse", 1), 1);
  EXPECT_TRUE(std::isnan(value("r2", 1))) << "the truth is constant";
  EXPECT_DOUBLE_EQ(value("mse", -1), 2);
  const Residuals& residuals = judged.models[0].residuals.at(0);
  EXPECT_EQ(residuals.low, -1);
  EXPECT_EQ(residuals.high, 3);
  EXPECT_EQ(residuals.counts.front(), 1);
  EXPECT_EQ(residuals.counts.back(), 1);
}

TEST(Regression, LargeNumbersKeepTheirSpread) {
  const std::vector<float> truth{1e6F, 1e6F + 1, 1e6F + 2, 1e6F + 3}, predicted{1e6F + 1, 1e6F, 1e6F + 3, 1e6F + 2};
  const auto judged = judge_regressions(table(truth, 1), {table(predicted, 1)}, {.replicas = 0});
  EXPECT_DOUBLE_EQ(find(judged.models[0].scores, "r2", 0)->value, 1 - 1 / 1.25);
  EXPECT_EQ(find(judged.models[0].scores, "mse", -1), nullptr) << "there is one output";
}

TEST(Regression, TwoModelsAreResampledAlike) {
  std::vector<float> truth, a, b;
  for (int i = 0; i < 500; ++i) {
    truth.push_back(static_cast<float>(i % 17));
    a.push_back(truth.back() + static_cast<float>((i * 7) % 5) - 2);
    b.push_back(a.back() + 1);
  }
  const auto judged = judge_regressions(table(truth, 1), {table(a, 1), table(b, 1)}, {.replicas = 50});
  EXPECT_GT(find(judged.models[0].scores, "bias", 0)->error, 0.01);
  EXPECT_NEAR(find(judged.difference, "bias", 0)->value, -1, 1e-9);
  EXPECT_NEAR(find(judged.difference, "bias", 0)->error, 0, 1e-9) << "what fluctuates is common";
  EXPECT_EQ(judged.models[0].residuals[0].high, judged.models[1].residuals[0].high);
}

TEST(Regression, RefusesWhatDoesNotFit) {
  const std::vector<float> two{1, 2}, three{1, 2, 3}, bad{1, std::numeric_limits<float>::infinity()}, none;
  EXPECT_THROW(judge_regressions(table(two, 1), {table(three, 1)}, {}), Error);
  EXPECT_THROW(judge_regressions(table(two, 1), {table(two, 2)}, {}), Error);
  EXPECT_THROW(judge_regressions(table(two, 1), {table(bad, 1)}, {}), Error);
  EXPECT_THROW(judge_regressions(table(none, 1), {table(none, 1)}, {}), Error);
}

TEST(Regression, WeightsBelowZeroMakeNoSquareBelowZero) {
  const std::vector<float> truth{0, 0, 0}, p{1, 5, -5};
  const auto judged =
      judge_regressions({.values = truth, .width = 1, .name = "t"}, {{.values = p, .width = 1, .name = "p"}},
                        {.replicas = 0, .event_weights = {10, -1, -1}});
  for (const char* name : {"mse", "resolution", "mae"}) {
    const Estimate* found = find(judged.models.at(0).scores, name, 0);
    EXPECT_FALSE(found->value < 0) << name;
    EXPECT_EQ(std::isnan(found->value), std::ranges::find(judged.left_out, ScoreName(name, 0)) != judged.left_out.end())
        << name << " " << found->value;
  }
  EXPECT_TRUE(std::isnan(find(judged.models[0].scores, "mse", 0)->value)) << "(10 - 25 - 25) / 8";
  EXPECT_EQ(find(judged.models[0].scores, "bias", 0)->value, 10.0 / 8);
}

}  // namespace
}  // namespace linac::scores
