#include "linac/base/base/bootstrap.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace linac {
namespace {

TEST(Bootstrap, PoissonOfOneInvertsItsDistribution) {
  const double e = std::numbers::e;
  EXPECT_EQ(poisson_of_one(0), 0);
  EXPECT_EQ(poisson_of_one(1 / e - 1e-9), 0);
  EXPECT_EQ(poisson_of_one(1 / e + 1e-9), 1);
  EXPECT_EQ(poisson_of_one(2 / e + 1e-9), 2);
  EXPECT_EQ(poisson_of_one(2.5 / e + 1e-9), 3);
  EXPECT_LE(poisson_of_one(std::nextafter(1.0, 0.0)), 12);
}

TEST(Bootstrap, WeightsHaveMeanAndVarianceOne) {
  constexpr int kEvents = 20000;
  double sum = 0, squares = 0;
  for (uint64_t event = 0; event < kEvents; ++event) {
    std::array<float, 4> uniform;
    fill_event_uniform(7, 0, event, uniform);
    for (const float u : uniform) {
      const int n = poisson_of_one(u);
      sum += n;
      squares += n * n;
    }
  }
  const double n = 4.0 * kEvents, mean = sum / n;
  EXPECT_NEAR(mean, 1, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n - mean * mean, 1, 4 * std::sqrt(3 / n));
}

TEST(Bootstrap, NumbersFollowFromTheEventAlone) {
  std::vector<float> whole(130), part(60), other(60);
  fill_event_uniform(1, 2, 3, whole);
  fill_event_uniform(1, 2, 3, part, 64);
  EXPECT_EQ(std::vector<float>(whole.begin() + 64, whole.begin() + 124), part);
  fill_event_uniform(1, 2, 4, other, 64);
  EXPECT_NE(part, other);
  fill_event_uniform(1, 2, uint64_t{3} << 32, other, 64);
  EXPECT_NE(part, other);
}

}  // namespace
}  // namespace linac
