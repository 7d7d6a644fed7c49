#include "linac/model/chain/layer_maps.h"

#include <gtest/gtest.h>

#include <numeric>

namespace linac::chain {
namespace {

constexpr PlaneShape kShape{15, 15};

Plane one_cell(int64_t i, int64_t j, float energy) {
  Plane plane(static_cast<size_t>(kShape.size()));
  plane[static_cast<size_t>(kShape.at(i, j))] = energy;
  return plane;
}

float at(const Plane& plane, int64_t i, int64_t j) {
  return plane[static_cast<size_t>(kShape.at(i, j))];
}

TEST(LayerMaps, CarriesAlongYByPartsOfCells) {
  LayerMaps maps(kShape, 0.5F);
  maps.begin_shower();
  maps.carry(one_cell(7, 5, 4), 1.25F);
  EXPECT_FLOAT_EQ(at(maps.last(), 7, 6), 3);
  EXPECT_FLOAT_EQ(at(maps.last(), 7, 7), 1);
  maps.carry(one_cell(2, 2, 8), 0);
  EXPECT_FLOAT_EQ(at(maps.last(), 2, 2), 8);
  EXPECT_FLOAT_EQ(at(maps.last(), 7, 6), 0);
  EXPECT_FLOAT_EQ(at(maps.before_last(), 7, 6), 3);
  EXPECT_FLOAT_EQ(at(maps.memory(), 7, 6), 1.5F);
  maps.begin_shower();
  EXPECT_FLOAT_EQ(at(maps.memory(), 7, 6), 0);
}

TEST(LayerMaps, AShiftBeyondTheImageLeavesNothing) {
  LayerMaps maps(kShape, 0.5F);
  maps.begin_shower();
  maps.carry(one_cell(7, 5, 4), 1000);
  EXPECT_FLOAT_EQ(std::accumulate(maps.last().begin(), maps.last().end(), 0.0F), 0);
}

TEST(LayerMaps, GuessesShareTheEnergy) {
  LayerMaps maps(kShape, 0.5F);
  maps.begin_shower();
  maps.carry(one_cell(7, 7, 4), 0);
  const std::vector<float> mean{4, 3, 2, 1, 0.5F, 0.1F};
  maps.guess(mean, {7.5F, 7.5F}, 2);
  for (int k = 0; k < kGuesses; ++k) {
    float sum = 0;
    for (int64_t i = 0; i < kShape.x; ++i)
      for (int64_t j = 0; j < kShape.y; ++j) sum += at(maps.guess(k), i, j);
    EXPECT_NEAR(sum, 2, 1e-5) << k;
    EXPECT_FLOAT_EQ(at(maps.guess(k), 6, 7), at(maps.guess(k), 8, 7)) << k;
  }
  EXPECT_FLOAT_EQ(at(maps.guess(0), 7, 7), 0.5F);
  // The table's first value lies on the axis, its last one beyond all others.
  EXPECT_NEAR(at(maps.guess(2), 7, 7) / at(maps.guess(2), 7, 8), 4 / 0.5, 1e-4);
  EXPECT_NEAR(at(maps.guess(2), 7, 7) / at(maps.guess(2), 0, 0), 4 / 0.1, 1e-2);
}

}  // namespace
}  // namespace linac::chain
