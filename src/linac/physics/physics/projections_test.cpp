#include "linac/physics/physics/projections.h"

#include <gtest/gtest.h>

#include <numeric>

namespace linac::physics {
namespace {

// Two images of 2 x 3 x 4 cells; small integers, so that all sums are exact.
std::vector<float> two_images() {
  std::vector<float> images(2 * 24);
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<float>((i * 7) % 11);
  return images;
}

float cell(const std::vector<float>& images, size_t n, size_t i, size_t j, size_t k) {
  return images[((n * 2 + i) * 3 + j) * 4 + k];
}

TEST(Projections, AddUpTheCellsOfEachPlane) {
  const auto images = two_images();
  Projections sum(2, 3, 4);
  sum.add(images);
  EXPECT_EQ(sum.events, 2);
  double xy_12 = 0, xz_13 = 0, yz_20 = 0, layer_2 = 0, x_1 = 0, y_0 = 0;
  for (size_t n = 0; n < 2; ++n) {
    for (size_t k = 0; k < 4; ++k) xy_12 += cell(images, n, 1, 2, k);
    for (size_t j = 0; j < 3; ++j) xz_13 += cell(images, n, 1, j, 3);
    for (size_t i = 0; i < 2; ++i) yz_20 += cell(images, n, i, 2, 0);
    for (size_t i = 0; i < 2; ++i)
      for (size_t j = 0; j < 3; ++j) layer_2 += cell(images, n, i, j, 2);
    for (size_t k = 0; k < 4; ++k) {
      for (size_t j = 0; j < 3; ++j) x_1 += cell(images, n, 1, j, k);
      for (size_t i = 0; i < 2; ++i) y_0 += cell(images, n, i, 0, k);
    }
  }
  EXPECT_EQ(sum.xy[1 * 3 + 2], xy_12);
  EXPECT_EQ(sum.xz[1 * 4 + 3], xz_13);
  EXPECT_EQ(sum.yz[2 * 4 + 0], yz_20);
  EXPECT_EQ(sum.longitudinal[2], layer_2);
  EXPECT_EQ(sum.transverse_x[1], x_1);
  EXPECT_EQ(sum.transverse_y[0], y_0);
  const double total = std::accumulate(images.begin(), images.end(), 0.0);
  for (const auto* values : {&sum.xy, &sum.xz, &sum.yz, &sum.longitudinal, &sum.transverse_x, &sum.transverse_y})
    EXPECT_EQ(std::accumulate(values->begin(), values->end(), 0.0), total);
}

TEST(Projections, MergeEqualsAddingAll) {
  const auto images = two_images();
  Projections all(2, 3, 4), first(2, 3, 4), second(2, 3, 4);
  all.add(images);
  first.add(std::span(images).first(24));
  second.add(std::span(images).last(24));
  first.merge(second);
  EXPECT_EQ(first.events, 2);
  EXPECT_EQ(first.xy, all.xy);
  EXPECT_EQ(first.yz, all.yz);
  EXPECT_EQ(first.longitudinal, all.longitudinal);
}

TEST(Projections, MeanIsPerEvent) {
  const auto images = two_images();
  Projections sum(2, 3, 4);
  sum.add(images);
  const Projections mean = sum.mean();
  EXPECT_EQ(mean.events, 2);
  EXPECT_EQ(mean.xz[5], sum.xz[5] / 2);
  EXPECT_EQ(mean.longitudinal[1], sum.longitudinal[1] / 2);
  EXPECT_EQ(Projections(2, 3, 4).mean().xy, std::vector<double>(6, 0.0));
}

TEST(Projections, TravelsAsOneMessage) {
  Projections sum(2, 3, 4);
  sum.add(two_images());
  const auto message = sum.flat();
  EXPECT_EQ(message.size(), 6U + 8U + 12U);
  Projections other(2, 3, 4);
  other.assign_flat(message, 2);
  EXPECT_EQ(other.events, 2);
  EXPECT_EQ(other.xy, sum.xy);
  EXPECT_EQ(other.xz, sum.xz);
  EXPECT_EQ(other.yz, sum.yz);
  EXPECT_EQ(other.transverse_y, sum.transverse_y);
}

}  // namespace
}  // namespace linac::physics
