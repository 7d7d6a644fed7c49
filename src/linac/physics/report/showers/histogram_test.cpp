#include "linac/physics/report/showers/histogram.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

namespace linac::report {
namespace {

double area(const Histogram& histogram) {
  const std::vector<double>& shares = histogram.bins.values;
  return std::accumulate(shares.begin(), shares.end(), histogram.below + histogram.above);
}

TEST(Histogram, SharesAndWhatIsBeyondAddUpToOne) {
  const std::vector<float> values{
      -1, 0, 0.5, 1, 1.5, 2, 7, 8, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()};
  const Histogram histogram = histogram_of(values, {0, 1, 2});
  EXPECT_NEAR(histogram.bins.values[0], 0.2, 1e-12);
  EXPECT_NEAR(histogram.bins.values[1], 0.2, 1e-12) << "an edge belongs to the bin above";
  EXPECT_NEAR(histogram.below, 0.2, 1e-12);
  EXPECT_NEAR(histogram.above, 0.4, 1e-12);
  EXPECT_NEAR(area(histogram), 1, 1e-12);
  EXPECT_NEAR(area(histogram_of(values, {10, 11})), 1, 1e-12) << "all beyond";
}

TEST(Histogram, ErrorsOfFewShowersAreLongerAbove) {
  const std::vector<float> values(10, 0.5F);
  const Histogram histogram = histogram_of(values, {-1, 0, 1});
  EXPECT_EQ(histogram.bins.below[0], 0) << "there are no fewer than none";
  EXPECT_GT(histogram.bins.errors[0], 0) << "but there may be more";
  EXPECT_EQ(histogram.bins.errors[1], 0);
  EXPECT_GT(histogram.bins.below[1], 0);
}

}  // namespace
}  // namespace linac::report
