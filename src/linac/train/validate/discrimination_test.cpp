#include "linac/train/validate/discrimination.h"

#include <gtest/gtest.h>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/model/models/binary_classifier.h"

namespace linac::validate {
namespace {

std::vector<float> normal(size_t rows, size_t length, float shift, uint32_t lane) {
  std::vector<float> values(rows * length);
  fill_normal({.seed = 5, .lane = lane}, values);
  for (float& value : values) value += shift;
  return values;
}

TEST(AreaUnderRoc, CountsPairs) {
  EXPECT_DOUBLE_EQ(area_under_roc(std::vector<float>{1, 2}, std::vector<float>{3, 4}), 1);
  EXPECT_DOUBLE_EQ(area_under_roc(std::vector<float>{3, 4}, std::vector<float>{1, 2}), 0);
  EXPECT_DOUBLE_EQ(area_under_roc(std::vector<float>{1, 3}, std::vector<float>{2, 3}), (1 + 0 + 1 + 0.5) / 4);
  EXPECT_DOUBLE_EQ(area_under_roc(std::vector<float>{}, std::vector<float>{2}), 0.5);
}

TEST(Discriminate, CannotTellOneDistributionApart) {
  const auto auc = discriminate(models::observables_classifier(4), normal(300, 4, 0, 0), normal(300, 4, 0, 1), {});
  EXPECT_NEAR(auc.value, 0.5, 0.08);
  EXPECT_GT(auc.uncertainty, 0);
}

TEST(Discriminate, FindsAShiftWhateverTheSizes) {
  // Four features shifted by 0.5: the best AUC is Phi(0.5 * 2 / sqrt(2)) = 0.76.
  const auto auc = discriminate(models::observables_classifier(4), normal(800, 4, 0, 0), normal(400, 4, 0.5F, 1), {});
  EXPECT_NEAR(auc.value, 0.76, 0.05);
}

TEST(Discriminate, OnCellsToo) {
  const graph::Shape shape{4, 5, 7, 1};
  const auto auc =
      discriminate(models::cells_classifier(shape), normal(100, 140, 0, 0), normal(100, 140, 0.3F, 1), {.epochs = 5});
  EXPECT_GT(auc.value, 0.8);
}

TEST(Discriminate, DependsOnTheSeedAndNotOnTheThreads) {
  const auto first = normal(80, 3, 0, 0), second = normal(80, 3, 0.2F, 1);
  const auto run = [&](uint64_t seed, int threads) {
    return discriminate(models::observables_classifier(3), first, second,
                        {.epochs = 2, .seed = seed, .threads = threads})
        .value;
  };
  EXPECT_EQ(run(1, 1), run(1, 3));
  EXPECT_NE(run(1, 1), run(2, 1));
}

TEST(Discriminate, WantsEnoughEvents) {
  EXPECT_THROW(discriminate(models::observables_classifier(2), normal(3, 2, 0, 0), normal(9, 2, 0, 1), {}), Error);
}

}  // namespace
}  // namespace linac::validate
