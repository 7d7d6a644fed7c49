#include "linac/control/tune/pareto.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/control/tune/draws.h"

namespace linac::tune {
namespace {

std::vector<Losses> random_rows(size_t count, size_t losses, int64_t number, int levels = 0) {
  Draws draws({.seed = 5, .number = number}, 99);
  std::vector<Losses> rows(count, Losses(losses));
  for (Losses& row : rows)
    for (double& loss : row)
      loss = levels > 0 ? static_cast<double>(draws.below(static_cast<size_t>(levels))) : draws.uniform();
  return rows;
}

TEST(Pareto, FrontsAreThoseOfTheDefinition) {
  for (const size_t losses : {1U, 2U, 3U, 4U}) {
    for (const int levels : {0, 4}) {
      const auto rows = random_rows(120, losses, static_cast<int64_t>(losses), levels);
      const auto fronts = fronts_of(rows);
      for (size_t i = 0; i < rows.size(); ++i) {
        size_t wanted = 0;  // one behind the last front that holds a better one
        for (size_t j = 0; j < rows.size(); ++j)
          if (dominates(rows[j], rows[i])) wanted = std::max(wanted, fronts[j] + 1);
        EXPECT_EQ(fronts[i], wanted);
      }
    }
  }
}

TEST(Pareto, HypervolumesThatAreKnown) {
  EXPECT_DOUBLE_EQ(hypervolume({{1, 1}}, std::vector{3.0, 2.0}), 2);
  EXPECT_DOUBLE_EQ(hypervolume({{1, 2}, {2, 1}, {2, 2}, {1, 2}}, std::vector{3.0, 3.0}), 3);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 5}, {5, 0}}, std::vector{5.0, 5.0}), 0) << "on the reference";
  EXPECT_DOUBLE_EQ(hypervolume({}, std::vector{1.0, 1.0}), 0);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 1, 1}, {1, 0, 1}, {1, 1, 0}}, std::vector{2.0, 2.0, 2.0}), 4);
  EXPECT_DOUBLE_EQ(hypervolume({{0, 0, 0, 1}, {1, 1, 1, 0}}, std::vector{2.0, 2.0, 2.0, 2.0}), 9);
}

// A union of boxes by inclusion and exclusion.
double by_inclusion(const std::vector<Losses>& rows, const Losses& reference) {
  double sum = 0;
  for (size_t set = 1; set < (size_t{1} << rows.size()); ++set) {
    double box = 1;
    for (size_t d = 0; d < reference.size(); ++d) {
      double corner = -std::numeric_limits<double>::infinity();
      for (size_t i = 0; i < rows.size(); ++i)
        if ((set >> i & 1) != 0) corner = std::max(corner, rows[i][d]);
      box *= std::max(0.0, reference[d] - corner);
    }
    sum += __builtin_popcountll(set) % 2 == 1 ? box : -box;
  }
  return sum;
}

TEST(Pareto, HypervolumesAreThoseOfTheUnionOfBoxes) {
  for (const size_t losses : {2U, 3U, 4U})
    for (int64_t number = 0; number < 10; ++number) {
      const auto rows = random_rows(9, losses, number);
      const Losses reference(losses, 0.9);
      EXPECT_NEAR(hypervolume(rows, reference), by_inclusion(rows, reference), 1e-12);
    }
}

TEST(Pareto, CoverTakesTheLargestGainFirst) {
  const auto rows = random_rows(60, 3, 1);
  const auto unit = scaled(rows);
  const Losses reference(3, 1.1);
  std::vector<Losses> covered;
  for (const size_t chosen : greedy_cover(rows, 12)) {
    double most = 0;
    for (const Losses& row : unit) {
      auto with = covered;
      with.push_back(row);
      most = std::max(most, hypervolume(with, reference));
    }
    covered.push_back(unit[chosen]);
    EXPECT_NEAR(hypervolume(covered, reference), most, 1e-12);
  }
  auto all = greedy_cover(rows, 1000);
  std::sort(all.begin(), all.end());
  EXPECT_EQ(std::unique(all.begin(), all.end()) - all.begin(), 60);
}

TEST(Pareto, CrowdingOfALine) {
  const auto crowding = crowding_of({{0, 4}, {1, 3}, {3, 1}, {4, 0}});
  EXPECT_TRUE(std::isinf(crowding[0]) && std::isinf(crowding[3]));
  EXPECT_DOUBLE_EQ(crowding[1], 1.5);
}

TEST(Pareto, TheLargestNumbersAreScaledToo) {
  const double most = std::numeric_limits<double>::max();
  const auto unit = scaled({{-most, 1}, {most, 1}, {0, 1}});
  EXPECT_EQ(unit, (std::vector<Losses>{{0, 0.5}, {1, 0.5}, {0.5, 0.5}}));
}

}  // namespace
}  // namespace linac::tune
