#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/error.h"
#include "linac/physics/scores/classification.h"

namespace linac::scores {
namespace {

// Four events, of which none has the third label.
const std::vector<float> kTruth{1, 0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0};
const std::vector<float> kProbabilities{0.9F, 0.2F, 0.1F, 0.6F, 0.7F, 0.2F, 0.7F, 0.9F, 0.4F, 0.1F, 0.8F, 0.3F};

Table table(const std::vector<float>& values, const std::string& name) {
  return {.values = values, .width = 3, .name = name};
}

double value(const std::vector<Score>& scores, const std::string& name, int part = -1) {
  const Estimate* estimate = find(scores, name, part);
  EXPECT_NE(estimate, nullptr) << name;
  return estimate != nullptr ? estimate->value : 0;
}

TEST(MultiLabel, EachLabelIsOfTwoClasses) {
  const auto judged = judge_labels(table(kTruth, "t"), {table(kProbabilities, "p")}, {.replicas = 0});
  const Classification& found = judged.models.at(0);
  EXPECT_EQ(found.confusion, (std::vector<double>{1, 1, 0, 2, 1, 1, 0, 2, 4, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(value(found.scores, "auc", 0), 3.0 / 4) << "0.7 without the label is above 0.6 with it";
  EXPECT_DOUBLE_EQ(value(found.scores, "auc", 1), 3.0 / 4);
  EXPECT_TRUE(std::isnan(value(found.scores, "auc", 2)));
  EXPECT_DOUBLE_EQ(value(found.scores, "auc_macro"), 3.0 / 4) << "of the labels that have one";
  EXPECT_DOUBLE_EQ(value(found.scores, "accuracy", 0), 3.0 / 4);
  EXPECT_DOUBLE_EQ(value(found.scores, "accuracy"), (0.75 + 0.75 + 1) / 3);
  EXPECT_DOUBLE_EQ(value(found.scores, "exact_match"), 2.0 / 4);
  EXPECT_DOUBLE_EQ(value(found.scores, "precision", 1), 2.0 / 3);
  EXPECT_EQ(find(found.scores, "balanced_accuracy"), nullptr);
  ASSERT_EQ(found.classes.size(), 3U);
  EXPECT_EQ(found.classes[0].distributions.size(), 2U);
  EXPECT_EQ(found.classes[0].effective, (std::vector<double>{2, 2}));
}

TEST(MultiLabel, AModelDoesNotDifferFromItself) {
  const auto judged =
      judge_labels(table(kTruth, "t"), {table(kProbabilities, "p"), table(kProbabilities, "q")}, {.replicas = 20});
  EXPECT_GT(find(judged.models[0].scores, "accuracy", 0)->error, 0);
  EXPECT_EQ(value(judged.difference, "accuracy", 0), 0);
  EXPECT_EQ(find(judged.difference, "accuracy", 0)->error, 0);
  EXPECT_EQ(judged.delong_difference_error.at(0), 0);
}

TEST(MultiLabel, RefusesOtherValues) {
  std::vector<float> truth = kTruth, logits = kProbabilities;
  truth[4] = 0.5F;
  logits[5] = 1.5F;
  const auto refused = [](const std::vector<float>& t, const std::vector<float>& p) -> std::string {
    try {
      judge_labels(table(t, "t"), {table(p, "p")}, {.replicas = 0});
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  };
  EXPECT_NE(refused(truth, kProbabilities).find("event 1 has 0.5 for label 1"), std::string::npos);
  EXPECT_NE(refused(kTruth, logits).find("event 1 has 1.5, no probability; --logits"), std::string::npos);
}

TEST(MultiLabel, StepsAreDrawnWithTheirEvents) {
  // Every event is twice there: as steps they are known no better than once.
  std::vector<float> truth, p;
  std::vector<uint32_t> events;
  for (uint32_t event = 0; event < 40; ++event) {
    for (int step = 0; step < 2; ++step) {
      truth.push_back(event % 2 == 0 ? 1 : 0);
      p.push_back(event % 3 == 0 ? 0.75F : 0.25F);
      events.push_back(event);
    }
  }
  const Table t{.values = truth, .width = 1, .name = "t"}, scores{.values = p, .width = 1, .name = "p"};
  const auto once = judge_labels(t, {scores}, {});
  BootstrapOptions steps;
  steps.event_of_row = events;
  const auto together = judge_labels(t, {scores}, steps);
  const double error = find(once.models[0].scores, "accuracy")->error;
  EXPECT_NEAR(find(together.models[0].scores, "accuracy")->error / error, std::sqrt(2), 0.2);
  EXPECT_EQ(value(together.models[0].scores, "accuracy"), value(once.models[0].scores, "accuracy"));
  EXPECT_TRUE(std::isnan(together.models[0].classes[0].delong_error)) << "steps are not independent";
  EXPECT_FALSE(std::isnan(once.models[0].classes[0].delong_error));
}

}  // namespace
}  // namespace linac::scores
