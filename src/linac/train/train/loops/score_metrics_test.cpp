#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "linac/base/job/metrics.h"
#include "linac/physics/scores/roc.h"

namespace linac::train {
namespace {

TEST(Metrics, EachOverAllScoresThatAJobMayNameCanBeComputed) {
  const std::vector<float> scores{0.1F, 0.4F, 0.35F, 0.8F};
  const std::vector<uint8_t> is_positive{0, 0, 1, 1};
  int found = 0;
  for (const job::Metric& metric : job::metrics()) {
    if (!job::is_of_all_scores(metric.name)) continue;
    ++found;
    EXPECT_EQ(metric.of, job::Metric::Of::kFit) << metric.name;
    const double value = scores::rank_score(metric.name, scores, is_positive);
    EXPECT_TRUE(value >= 0 && value <= 1) << metric.name << " " << value;
  }
  EXPECT_GT(found, 0);
  EXPECT_DOUBLE_EQ(scores::rank_score("auc", scores, is_positive), 0.75);
  EXPECT_DOUBLE_EQ(scores::rank_score("average_precision", scores, is_positive), 0.5 * (1 + 2.0 / 3));
}

}  // namespace
}  // namespace linac::train
