#include "linac/physics/physics/number_sequence.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linac::physics {
namespace {

constexpr RngKey kKey{.seed = 5, .stream = Stream::kShower};

struct Moments {
  double mean, variance;
};

template <class Draw>
Moments moments(int n, const Draw& draw) {
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double value = draw();
    sum += value;
    squares += value * value;
  }
  return {sum / n, squares / n - sum / n * sum / n};
}

TEST(NumberSequence, TheSameKeyGivesTheSameNumbers) {
  NumberSequence a(kKey), b(kKey), other({.seed = 6, .stream = Stream::kShower});
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const double value = a.uniform();
    EXPECT_GT(value, 0);
    EXPECT_LT(value, 1);
    EXPECT_EQ(value, b.uniform());
    equal += value == other.uniform() ? 1 : 0;
  }
  EXPECT_EQ(equal, 0);
}

TEST(NumberSequence, NormalMoments) {
  NumberSequence numbers(kKey);
  const auto [mean, variance] = moments(100000, [&] { return numbers.normal(); });
  EXPECT_NEAR(mean, 0, 0.02);
  EXPECT_NEAR(variance, 1, 0.03);
}

// Mean and variance of a Gamma distribution are its shape; limits of five standard errors.
TEST(NumberSequence, GammaMoments) {
  NumberSequence numbers(kKey);
  constexpr int kDraws = 100000;
  for (const double shape : {0.05, 0.5, 1.0, 3.0, 40.0, 3000.0}) {
    const auto [mean, variance] = moments(kDraws, [&] { return numbers.gamma(shape); });
    EXPECT_NEAR(mean, shape, 5 * std::sqrt(shape / kDraws)) << shape;
    EXPECT_NEAR(variance / shape, 1, 5 * std::sqrt((2 + 6 / shape) / kDraws)) << shape;
  }
}

TEST(NumberSequence, GammaOfATinyShapeIsFinite) {
  NumberSequence numbers(kKey);
  for (int i = 0; i < 100; ++i) {
    const double value = numbers.gamma(1e-200);
    EXPECT_TRUE(std::isfinite(value) && value >= 0);
  }
}

}  // namespace
}  // namespace linac::physics
