#include "linac/physics/physics/similarity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/rng.h"

namespace linac::physics {
namespace {

std::vector<float> noise(size_t n, uint32_t lane) {
  std::vector<float> values(n);
  fill_uniform({.seed = 1, .lane = lane}, values);
  return values;
}

// The definition, window by window.
double slow_similarity(const std::vector<float>& a, const std::vector<float>& b, size_t rows, size_t columns) {
  double sum = 0;
  int windows = 0;
  for (size_t i = 0; i + 7 <= rows; ++i) {
    for (size_t j = 0; j + 7 <= columns; ++j, ++windows) {
      double ma = 0, mb = 0, va = 0, vb = 0, cov = 0;
      const auto each = [&](const auto& use) {
        for (size_t k = 0; k < 49; ++k) use((i + k / 7) * columns + j + k % 7);
      };
      each([&](size_t k) { ma += a[k] / 49.0, mb += b[k] / 49.0; });
      each([&](size_t k) {
        va += (a[k] - ma) * (a[k] - ma) / 48, vb += (b[k] - mb) * (b[k] - mb) / 48,
            cov += (a[k] - ma) * (b[k] - mb) / 48;
      });
      sum += (2 * ma * mb + 1e-4) * (2 * cov + 9e-4) / ((ma * ma + mb * mb + 1e-4) * (va + vb + 9e-4));
    }
  }
  return sum / windows;
}

TEST(StructuralSimilarity, FollowsItsDefinition) {
  const auto a = noise(13 * 9, 0);
  auto b = noise(13 * 9, 1);
  for (size_t i = 0; i < b.size(); ++i) b[i] = 0.5F * (a[i] + b[i]);
  EXPECT_NEAR(structural_similarity(a, b, 13, 9), slow_similarity(a, b, 13, 9), 1e-9);
  EXPECT_NEAR(structural_similarity(a, a, 13, 9), 1, 1e-12);
}

TEST(StructuralSimilarity, SmallPicturesAreOneWindow) {
  const auto a = noise(12, 0);
  EXPECT_NEAR(structural_similarity(a, a, 3, 4), 1, 1e-12);
  EXPECT_LT(structural_similarity(a, noise(12, 1), 3, 4), 0.9);
}

TEST(NearestDistances, AgreeWithASearch) {
  const int64_t length = 5;
  const auto queries = noise(300 * 5, 0), points = noise(270 * 5, 1);
  const auto found = nearest_distances(queries, points, length, Same::kNo);
  for (size_t q = 0; q < 300; ++q) {
    double nearest = 1e9;
    for (size_t p = 0; p < 270; ++p) {
      double square = 0;
      for (size_t k = 0; k < 5; ++k) square += std::pow(queries[q * 5 + k] - points[p * 5 + k], 2);
      nearest = std::min(nearest, std::sqrt(square));
    }
    ASSERT_NEAR(found[q], nearest, 1e-3);
  }
}

TEST(NearestDistances, ARowIsNotItsOwnNeighbour) {
  const std::vector<float> rows{0, 0, 3, 4, 0, 0};
  EXPECT_EQ(nearest_distances(rows, rows, 2, Same::kYes), (std::vector<float>{0, 5, 0}));
  EXPECT_TRUE(std::isinf(nearest_distances(std::vector<float>{1}, std::vector<float>{1}, 1, Same::kYes)[0]));
}

}  // namespace
}  // namespace linac::physics
