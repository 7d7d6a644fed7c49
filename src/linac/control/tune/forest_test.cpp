#include "linac/control/tune/forest.h"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "linac/control/tune/test_studies.h"

namespace linac::tune {
namespace {

History sampled(const Space& space, int count, const std::function<double(const std::vector<double>&)>& value_of) {
  History history(space);
  const auto sobol = testing::sampler("sobol");
  for (int64_t i = 0; i < count; ++i) {
    history.start(i, suggest(*sobol, history, 3, i));
    history.complete(i, {value_of(history.find(i)->unit)});
  }
  return history;
}

// Of a sum of independent terms each explains its own variance: 16 to 4 to 0 of lines of slope 4, 2 and 0.
TEST(Forest, FindsTheSharesOfASum) {
  const auto history = sampled(testing::numbers(3), 300, [](const auto& u) { return 4 * u[0] - 2 * u[2]; });
  const auto shares = Forest(history, 0, 1).importance();
  EXPECT_NEAR(shares[0], 0.8, 0.03);
  EXPECT_NEAR(shares[1], 0.0, 0.01);
  EXPECT_NEAR(shares[2], 0.2, 0.03);
  EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 1e-12);
  EXPECT_EQ(shares, Forest(history, 0, 1).importance());
}

TEST(Forest, MapsTwoParametersOverTheOthers) {
  const auto history = sampled(testing::numbers(3), 400, [](const auto& u) { return 10 * u[0] + 4 * u[1] + u[2]; });
  const auto map = Forest(history, 0, 1).map(0, 1, 8);
  for (size_t row = 0; row < 8; ++row)
    for (size_t column = 0; column < 8; ++column) {
      const double x = (static_cast<double>(column) + 0.5) / 8, y = (static_cast<double>(row) + 0.5) / 8;
      EXPECT_NEAR(map[8 * row + column], 10 * x + 4 * y + 0.5, 1.2) << column << ", " << row;
    }
}

TEST(Forest, SaysNothingWhereNothingVaries) {
  EXPECT_TRUE(Forest(sampled(testing::numbers(2), 3, [](const auto& u) { return u[0]; }), 0, 1).empty());
  const std::vector<double> none{0, 0};
  EXPECT_EQ(Forest(sampled(testing::numbers(2), 3, [](const auto& u) { return u[0]; }), 0, 1).importance(), none);
  EXPECT_EQ(Forest(sampled(testing::numbers(2), 40, [](const auto&) { return 7; }), 0, 1).importance(), none);
}

TEST(Forest, TakesTheLargestNumbersAndConditions) {
  const double most = std::numeric_limits<double>::max();
  const auto history = sampled(testing::mixed(), 60, [&](const auto& u) { return u[1] < 0.5 ? most : -most; });
  EXPECT_GT(Forest(history, 0, 1).importance()[1], 0.8);
}

}  // namespace
}  // namespace linac::tune
