#include "linac/physics/scores/roc.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/physics/scores/test_events.h"

namespace linac::scores {
namespace {

using Scores = std::vector<float>;
using Kinds = std::vector<uint8_t>;

TEST(Auc, CountsPairs) {
  // Of the pairs (positive, negative) 0.9 beats 0.8 and 0.2, 0.4 beats 0.2 only.
  EXPECT_DOUBLE_EQ(auc(Scores{0.9F, 0.8F, 0.4F, 0.2F}, Kinds{1, 0, 1, 0}), 0.75);
  EXPECT_DOUBLE_EQ(auc(Scores{3, 2, 1}, Kinds{1, 1, 0}), 1);
  EXPECT_DOUBLE_EQ(auc(Scores{3, 2, 1}, Kinds{0, 0, 1}), 0);
}

TEST(Auc, TiesCountHalf) {
  EXPECT_DOUBLE_EQ(auc(Scores{1, 1, 1, 1}, Kinds{1, 0, 0, 1}), 0.5);
  // 2 beats 1 and ties with 2; 1 ties with 1 and loses to 2: (1 + 0.5 + 0.5 + 0) / 4.
  EXPECT_DOUBLE_EQ(auc(Scores{2, 2, 1, 1}, Kinds{1, 0, 1, 0}), 0.5);
  EXPECT_DOUBLE_EQ(auc(Scores{2, 1, 1}, Kinds{1, 1, 0}), 0.75);
}

TEST(Auc, WeightsAreRepetitions) {
  const Scores scores{0.9F, 0.8F, 0.8F, 0.2F}, repeated{0.9F, 0.8F, 0.8F, 0.8F, 0.2F, 0.2F, 0.2F};
  const Kinds kinds{1, 0, 1, 0}, kinds_repeated{1, 0, 0, 1, 0, 0, 0};
  EXPECT_DOUBLE_EQ(auc(scores, kinds, std::vector<double>{1, 2, 1, 3}), auc(repeated, kinds_repeated));
  EXPECT_DOUBLE_EQ(auc(scores, kinds, std::vector<double>{0, 2, 1, 0}), 0.5);
}

TEST(Auc, NeedsBothClasses) {
  EXPECT_TRUE(std::isnan(auc(Scores{1, 2}, Kinds{1, 1})));
  EXPECT_TRUE(std::isnan(auc(Scores{1, 2}, Kinds{0, 0})));
  EXPECT_TRUE(std::isnan(auc(Scores{}, Kinds{})));
  EXPECT_TRUE(std::isnan(auc(Scores{1, 2}, Kinds{0, 1}, std::vector<double>{0, 1})));
}

TEST(Auc, RefusesWhatHasNoRank) {
  for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
    try {
      auc(Scores{1, bad}, Kinds{0, 1});
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUser);
      EXPECT_NE(std::string(error.what()).find("event 1"), std::string::npos) << error.what();
    }
  }
}

TEST(Roc, HasOnlyCorners) {
  // Two positives in a row are one step up, the ties a slope.
  const Roc found = roc(Scores{9, 8, 7, 6, 5, 5}, Kinds{1, 1, 0, 0, 1, 0});
  ASSERT_EQ(found.points.size(), 4U);
  EXPECT_EQ(found.points[0].threshold, std::numeric_limits<double>::infinity());
  EXPECT_EQ(found.points[0].tpr, 0);
  EXPECT_DOUBLE_EQ(found.points[1].tpr, 2.0 / 3);
  EXPECT_EQ(found.points[1].fpr, 0);
  EXPECT_EQ(found.points[1].threshold, 8);
  EXPECT_DOUBLE_EQ(found.points[2].fpr, 2.0 / 3);
  EXPECT_EQ(found.points[3].fpr, 1);
  EXPECT_EQ(found.points[3].tpr, 1);
  double area = 0;
  for (size_t i = 1; i < found.points.size(); ++i)
    area += (found.points[i].fpr - found.points[i - 1].fpr) * (found.points[i].tpr + found.points[i - 1].tpr) / 2;
  EXPECT_DOUBLE_EQ(area, found.figures.auc);
}

TEST(Roc, RejectionIsTheLowestBackground) {
  // Half of the signal before any background, 80 % lie within the second group of ties.
  const Roc found = roc(Scores{4, 4, 3, 3, 3, 2, 1}, Kinds{1, 1, 1, 0, 1, 0, 0});
  EXPECT_TRUE(std::isinf(found.figures.rejection[0]));
  EXPECT_NEAR(found.figures.rejection[1], 1 / (0.6 / 3), 1e-12)
      << "0.6 of the way through one of three background events";
  EXPECT_NEAR(found.figures.rejection[2], 1 / (0.8 / 3), 1e-12);
}

TEST(Roc, AveragePrecisionAddsPrecisionTimesGain) {
  // Thresholds 0.9, 0.8, 0.4: precision 1, 1/2, 2/3 with gains 1/2, 0, 1/2.
  const Roc found = roc(Scores{0.9F, 0.8F, 0.4F, 0.2F}, Kinds{1, 0, 1, 0});
  EXPECT_DOUBLE_EQ(found.figures.average_precision, 0.5 + 0.5 * 2 / 3);
}

TEST(Roc, ThinnedCurvesAreSmallAndClose) {
  const testing::Scored events = testing::normal_scores(300'000, 0.05, 1.5, 3);
  const Roc whole = roc(events.scores, events.is_positive);
  const std::vector<RocPoint> few = thinned(whole.points);
  EXPECT_GT(whole.points.size(), 20'000U);
  EXPECT_LT(few.size(), 4000U);
  double area = 0;
  for (size_t i = 1; i < few.size(); ++i) area += (few[i].fpr - few[i - 1].fpr) * (few[i].tpr + few[i - 1].tpr) / 2;
  EXPECT_NEAR(area, whole.figures.auc, 1e-4);
  EXPECT_EQ(few[1].tpr, whole.points[1].tpr) << "the first events are kept, for logarithmic axes";
  EXPECT_EQ(few.back().tpr, 1);
}

}  // namespace
}  // namespace linac::scores
