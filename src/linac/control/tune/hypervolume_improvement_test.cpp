#include "linac/control/tune/samplers/hypervolume_improvement.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/control/tune/draws.h"
#include "linac/control/tune/normal.h"
#include "linac/control/tune/samplers/improvement.h"

namespace linac::tune {
namespace {

/// Rows on a sphere, of which none dominates another, and some behind them.
std::vector<Losses> rows_of(size_t losses, size_t count) {
  Draws draws({.seed = 3}, 99);
  std::vector<Losses> rows;
  for (size_t i = 0; i < count; ++i) {
    Losses row(losses);
    double square = 0;
    for (double& loss : row) loss = -0.1 - draws.uniform(), square += loss * loss;
    for (double& loss : row) loss = loss / std::sqrt(square) + (i % 4 == 3 ? 0.2 : 0);
    rows.push_back(row);
  }
  return rows;
}

/// By what draws of the losses add to the hypervolume.
double drawn(const std::vector<Losses>& rows, const Losses& reference, const Losses& means, const Losses& deviations,
             int count) {
  Draws draws({.seed = 4}, 99);
  const double before = hypervolume(rows, reference);
  std::vector<Losses> more = rows;
  more.emplace_back(means.size());
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    for (size_t k = 0; k < means.size(); ++k) more.back()[k] = means[k] + deviations[k] * draws.normal();
    sum += hypervolume(more, reference) - before;
  }
  return sum / count;
}

class Hypervolumes : public ::testing::TestWithParam<size_t> {};
INSTANTIATE_TEST_SUITE_P(Losses, Hypervolumes, ::testing::Values(1, 2, 3, 4));

TEST_P(Hypervolumes, AreWhatDrawsImproveOnAverage) {
  const size_t losses = GetParam();
  const std::vector<Losses> rows = rows_of(losses, 12);
  const Losses reference(losses, 0.1);
  const HypervolumeImprovement improvement(rows, reference);
  for (const double mean : {-0.8, -0.4, 0.0})
    for (const double deviation : {0.1, 0.5}) {
      Losses means(losses, mean), deviations(losses, deviation);
      means[0] -= 0.2;
      const double expected = drawn(rows, reference, means, deviations, losses > 3 ? 4000 : 20000);
      if (expected < 1e-3) continue;  // few draws hit it
      EXPECT_NEAR(std::exp(improvement.at(means, deviations).log_value) / expected, 1, losses > 3 ? 0.15 : 0.08)
          << mean << " " << deviation;
    }
}

TEST_P(Hypervolumes, HaveDerivativesOfTheirValues) {
  const size_t losses = GetParam();
  const HypervolumeImprovement improvement(rows_of(losses, 12), Losses(losses, 0.1));
  for (const double mean : {-0.9, -0.4, 0.3, 4.0}) {
    const Losses means(losses, mean), deviations(losses, 0.2);
    const HypervolumeImprovement::At at = improvement.at(means, deviations);
    EXPECT_TRUE(std::isfinite(at.log_value)) << "far behind the front too";
    for (size_t k = 0; k < losses; ++k) {
      constexpr double kStep = 1e-6;
      const auto slope = [&](bool of_mean) {
        Losses low = of_mean ? means : deviations, high = low;
        low[k] -= kStep, high[k] += kStep;
        const auto value = [&](const Losses& moved) {
          return (of_mean ? improvement.at(moved, deviations) : improvement.at(means, moved)).log_value;
        };
        return (value(high) - value(low)) / (2 * kStep);
      };
      EXPECT_NEAR(slope(true), at.by_mean[k], 1e-4 * (1 + std::abs(at.by_mean[k]))) << mean;
      EXPECT_NEAR(slope(false), at.by_deviation[k], 1e-4 * (1 + std::abs(at.by_deviation[k]))) << mean;
    }
  }
}

TEST(Hypervolume, OfOneLossIsTheExpectedImprovement) {
  const HypervolumeImprovement improvement({{0.3}, {-0.2}, {0.9}}, {5});
  const Losses means{0.1}, deviations{0.4};
  EXPECT_NEAR(improvement.at(means, deviations).log_value, log_improvement(-0.2, 0.1, 0.4).log_value, 1e-12);
}

// The front's corner at (0, 0): free is the quarter to the left of 0, and the strip below it.
TEST(Hypervolume, OfTwoLossesAndOneRowIsKnown) {
  const HypervolumeImprovement improvement({{0, 0}, {0, 0}, {2, 2}}, {1, 1});
  const Losses zeros(2, 0), ones(2, 1);
  const double to_zero = normal_density(0), to_one = std::exp(log_improvement(1, 0, 1).log_value);
  EXPECT_NEAR(std::exp(improvement.at(zeros, ones).log_value), to_zero * to_one + (to_one - to_zero) * to_zero, 1e-12);
}

// Beyond a number of boxes some rows stand for the front, those that cover most.
TEST(Hypervolume, OfAFrontThatIsTooLongIsAboutTheSame) {
  const std::vector<Losses> rows = rows_of(3, 400);
  const Losses reference(3, 0.1), means(3, -0.7), deviations(3, 0.2);
  const double expected = drawn(rows, reference, means, deviations, 300);
  EXPECT_NEAR(std::exp(HypervolumeImprovement(rows, reference).at(means, deviations).log_value) / expected, 1, 0.25);
}

TEST(Hypervolume, AReferenceLiesBehindTheFront) {
  EXPECT_EQ(reference_of({{0, 10}, {10, 0}, {50, 50}}), (Losses{11, 11}));
  EXPECT_EQ(reference_of({{0, 0}, {10, 20}}), (Losses{1, 2})) << "one alone: of all rows";
  EXPECT_EQ(reference_of({{3, 3}, {3, 3}}), (Losses{3.1, 3.1}));
}

}  // namespace
}  // namespace linac::tune
