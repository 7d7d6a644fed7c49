#include "linac/physics/scores/classification.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "linac/base/base/error.h"

namespace linac::scores {
namespace {

constexpr BootstrapOptions kNoBootstrap{.replicas = 0};

// Three events of each of three classes, one of them decided wrongly.
const std::vector<float> kProbabilities{0.75F, 0.25F, 0, 0.5F,  0.25F, 0.25F, 0.25F, 0.5F,  0.25F,
                                        0,     1,     0, 0.25F, 0.5F,  0.25F, 0.25F, 0.75F, 0,
                                        0,     0,     1, 0.25F, 0.25F, 0.5F,  0.25F, 0,     0.75F};
const std::vector<float> kTruth{0, 0, 0, 1, 1, 1, 2, 2, 2};

Table table(const std::vector<float>& values, size_t width, const std::string& name) {
  return {.values = values, .width = width, .name = name};
}

double value(const Classification& found, const std::string& name, int part = -1) {
  const Estimate* estimate = find(found.scores, name, part);
  EXPECT_NE(estimate, nullptr) << name;
  return estimate != nullptr ? estimate->value : 0;
}

TEST(Classification, ByHand) {
  const Labels labels(table(kTruth, 1, "targets"), 3, {"a", "b", "c"});
  const auto judged = judge_classifiers(labels, {Predictions(table(kProbabilities, 3, "p"), labels)}, kNoBootstrap);
  const Classification& found = judged.models.at(0);
  EXPECT_EQ(found.confusion, (std::vector<double>{2, 1, 0, 0, 3, 0, 0, 0, 3}));
  EXPECT_DOUBLE_EQ(value(found, "accuracy"), 8.0 / 9);
  EXPECT_DOUBLE_EQ(value(found, "balanced_accuracy"), 8.0 / 9);
  EXPECT_DOUBLE_EQ(value(found, "top_2"), 1)
      << "the true class of the wrong one ties for the second place and is first";
  EXPECT_NEAR(value(found, "log_loss"), -(2 * std::log(0.75) + std::log(0.25) + 3 * std::log(0.5) + std::log(0.75)) / 9,
              1e-6);
  EXPECT_DOUBLE_EQ(value(found, "precision", 1), 0.75);
  EXPECT_DOUBLE_EQ(value(found, "recall", 0), 2.0 / 3);
  EXPECT_DOUBLE_EQ(value(found, "f1", 0), 0.8);
  EXPECT_DOUBLE_EQ(value(found, "auc", 2), 1);
  // 0.25 of the wrong event ties with four of the other classes' six.
  EXPECT_DOUBLE_EQ(value(found, "auc", 0), (6 + 6 + 2 + 0.5 * 4) / 18);
  EXPECT_EQ(find(found.scores, "top_3"), nullptr);
  EXPECT_TRUE(judged.difference.empty());
  int64_t events = 0;
  for (const auto& of_class : found.classes[0].distributions)
    for (const int64_t count : of_class) events += count;
  EXPECT_EQ(events, 9);
}

TEST(Classification, OneColumnIsTheProbabilityOfClassOne) {
  const std::vector<float> p{0.9F, 0.5F, 0.25F, 0.1F}, truth{1, 0, 1, 0};
  const Labels labels(table(truth, 1, "targets"), 1, {"background", "signal"});
  const auto judged = judge_classifiers(labels, {Predictions(table(p, 1, "p"), labels)}, kNoBootstrap);
  const Classification& found = judged.models.at(0);
  EXPECT_EQ(found.confusion, (std::vector<double>{1, 1, 1, 1})) << "0.5 is decided for class 1";
  EXPECT_DOUBLE_EQ(value(found, "auc", 0), value(found, "auc", 1));
  EXPECT_DOUBLE_EQ(value(found, "auc", 1), 0.75);
  EXPECT_NEAR(value(found, "brier"), (0.01 + 0.25 + 0.5625 + 0.01) / 4, 1e-6);
  EXPECT_EQ(find(found.scores, "top_2"), nullptr);
}

TEST(Classification, OneHotAndNumbersAreTheSame) {
  std::vector<float> one_hot(27);
  for (size_t i = 0; i < 9; ++i) one_hot[i * 3 + static_cast<size_t>(kTruth[i])] = 1;
  const Labels a(table(kTruth, 1, "t"), 3, {}), b(table(one_hot, 3, "t"), 3, {});
  for (size_t i = 0; i < 9; ++i) EXPECT_EQ(a.truth(i), b.truth(i));
  EXPECT_EQ(a.names()[2], "class 2");
}

TEST(Classification, AMissingClassHasNoFigures) {
  const std::vector<float> p{0.5F, 0.25F, 0.25F, 0.25F, 0.75F, 0, 0.25F, 0.5F, 0.25F}, truth{0, 1, 0};
  const Labels labels(table(truth, 1, "t"), 3, {});
  const auto judged = judge_classifiers(labels, {Predictions(table(p, 3, "p"), labels)}, {.replicas = 20});
  const Classification& found = judged.models.at(0);
  EXPECT_TRUE(std::isnan(value(found, "auc", 2)));
  EXPECT_TRUE(std::isnan(value(found, "recall", 2)));
  EXPECT_TRUE(std::isnan(value(found, "precision", 2)));
  EXPECT_DOUBLE_EQ(value(found, "auc_macro"), (value(found, "auc", 0) + value(found, "auc", 1)) / 2);
  EXPECT_DOUBLE_EQ(value(found, "balanced_accuracy"), 0.75) << "of the classes that are there";
}

TEST(Classification, AModelDoesNotDifferFromItself) {
  const Labels labels(table(kTruth, 1, "targets"), 3, {});
  const Predictions predictions(table(kProbabilities, 3, "p"), labels);
  const auto judged = judge_classifiers(labels, {predictions, predictions}, {.replicas = 50});
  ASSERT_EQ(judged.models.size(), 2U);
  ASSERT_FALSE(judged.difference.empty());
  EXPECT_GT(find(judged.models[0].scores, "accuracy")->error, 0);
  EXPECT_EQ(find(judged.difference, "accuracy")->value, 0);
  EXPECT_EQ(find(judged.difference, "accuracy")->error, 0);
  EXPECT_EQ(judged.delong_difference_error[0], 0);
}

// The first ones count less than nothing.
TEST(Classification, WeightsBelowZeroMakeNoShareAboveOne) {
  const std::vector<float> p{0.9F, 0.8F, 0.7F, 0.4F, 0.3F, 0.2F, 0.6F, 0.1F}, truth{0, 1, 1, 1, 0, 0, 0, 0};
  const Labels labels(table(truth, 1, "t"), 1, {});
  const BootstrapOptions options{.replicas = 50, .event_weights = {-0.9, 1, 1, 1, 1, 1, 1, 1}};
  const auto judged = judge_classifiers(labels, {Predictions(table(p, 1, "p"), labels)}, options);
  for (const Score& score : judged.models.at(0).scores) {
    if (score.name.starts_with("rejection") || score.name == "log_loss") continue;
    EXPECT_FALSE(score.estimate.value > 1 || score.estimate.value < 0) << score.name;
  }
  EXPECT_TRUE(std::isnan(value(judged.models[0], "average_precision", 1)));
  EXPECT_NE(std::ranges::find(judged.left_out, ScoreName("average_precision", 1)), judged.left_out.end());
}

TEST(Calibration, ABinOfWeightsBelowZeroHasNoShares) {
  Reliability reliability;
  for (const bool outcome : {true, false, true}) reliability.add(0.5, outcome);
  const auto bins = reliability.bins(std::vector<double>{1, -0.5, 1});
  EXPECT_DOUBLE_EQ(bins[7].events, 1.5);
  EXPECT_TRUE(std::isnan(bins[7].observed)) << "2 of 1.5";
  EXPECT_TRUE(std::isnan(reliability.error(std::vector<double>{1, -0.5, 1})));
  EXPECT_NEAR(reliability.error(std::vector<double>{1, 0.5, 1}), 0.3, 1e-6);
}

TEST(Calibration, BinsHoldTheirUpperEdge) {
  Reliability reliability;
  reliability.add(0, false);
  reliability.add(1.0 / 15, true);  // still the first bin
  reliability.add(0.07, true);      // the second
  reliability.add(1, true);         // the last
  const std::vector<double> ones(4, 1);
  const auto bins = reliability.bins(ones);
  EXPECT_EQ(bins[0].events, 2);
  EXPECT_EQ(bins[0].observed, 0.5);
  EXPECT_EQ(bins[1].events, 1);
  EXPECT_EQ(bins.back().events, 1);
  EXPECT_TRUE(std::isnan(bins[7].observed));
  EXPECT_NEAR(reliability.error(ones), (2 * (0.5 - 1.0 / 30) + 0.93 + 0) / 4, 1e-6);
}

void expect_error(ErrorCode code, const std::string& text, const std::function<void()>& act) {
  try {
    act();
    ADD_FAILURE() << "no error: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
  }
}

TEST(Labels, RefusesWhatIsNoLabel) {
  const std::vector<float> half{1, 0, 0.5F, 0.5F}, seven{0, 7}, same{1, 1};
  expect_error(ErrorCode::kData,
               "not one-hot; wanted are a single 1 among zeros, or class numbers 0, 1, ...; --task labels",
               [&] { Labels(table(half, 2, "t"), 2, {}); });
  expect_error(ErrorCode::kData, "class numbers 0 to 2", [&] { Labels(table(seven, 1, "t"), 3, {}); });
  expect_error(ErrorCode::kData, "has 2 columns", [&] { Labels(table(half, 2, "t"), 3, {}); });
  expect_error(ErrorCode::kUser, "all 2 events are of 'b'", [&] { Labels(table(same, 1, "t"), 2, {"a", "b"}); });
  expect_error(ErrorCode::kUser, "1 classes are named", [&] { Labels(table(seven, 1, "t"), 8, {"a"}); });
}

TEST(Predictions, RefusesWhatIsNoProbability) {
  const std::vector<float> truth{0, 1}, logits{2, -1, 0.5F, 0.5F}, unnormalised{0.5F, 0.1F, 0.5F, 0.5F}, one{0.5F},
      logit{0.5F, 1.5F};
  const Labels labels(table(truth, 1, "t"), 2, {});
  expect_error(ErrorCode::kData, "--logits applies a softmax", [&] { Predictions(table(logits, 2, "p"), labels); });
  expect_error(ErrorCode::kData, "add up to 0.6", [&] { Predictions(table(unnormalised, 2, "p"), labels); });
  expect_error(ErrorCode::kData, "sigmoid", [&] { Predictions(table(logit, 1, "p"), labels); });
  expect_error(ErrorCode::kData, "has 1 events, but the targets have 2",
               [&] { Predictions(table(one, 1, "p"), labels); });
}

}  // namespace
}  // namespace linac::scores
