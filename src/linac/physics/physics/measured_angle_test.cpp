#include "linac/physics/physics/measured_angle.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace linac::physics {
namespace {

constexpr double kRight = std::numbers::pi / 2;

class Image {
 public:
  Image(int64_t x, int64_t y, int64_t z) : x_(x), y_(y), z_(z), cells_(static_cast<size_t>(x * y * z)) {}
  float& at(int64_t i, int64_t j, int64_t k) { return cells_[static_cast<size_t>((i * y_ + j) * z_ + k)]; }
  double angle() const { return measured_angle(cells_, x_, y_, z_); }
  const std::vector<float>& cells() const { return cells_; }

 private:
  int64_t x_, y_, z_;
  std::vector<float> cells_;
};

TEST(MeasuredAngle, EmptyImage) {
  EXPECT_EQ(Image(5, 5, 3).angle(), 100);
}

TEST(MeasuredAngle, OneCellIsPerpendicular) {
  Image image(5, 5, 4);
  image.at(1, 3, 2) = 0.7F;
  EXPECT_DOUBLE_EQ(image.angle(), kRight);
}

TEST(MeasuredAngle, ALineAlongDepthIsPerpendicular) {
  Image image(5, 5, 4);
  for (int64_t k = 0; k < 4; ++k) image.at(2, 1, k) = 1.0F + static_cast<float>(k);
  EXPECT_DOUBLE_EQ(image.angle(), kRight);
}

// y grows by one cell a layer: 45 degrees in every layer but the one at the barycentre, which has no direction.
TEST(MeasuredAngle, ATiltedLineGivesItsTilt) {
  for (const int direction : {1, -1}) {
    Image image(5, 9, 4);
    for (int64_t k = 0; k < 4; ++k) image.at(2, 4 + direction * (k - 2), k) = 2.0F;
    EXPECT_NEAR(image.angle(), kRight - direction * std::numbers::pi / 4, 1e-12);
  }
}

TEST(MeasuredAngle, TheMiddleLayerOfAnOddLineCountsAsPerpendicular) {
  Image image(5, 9, 3);
  for (int64_t k = 0; k < 3; ++k) image.at(2, 3 + k, k) = 2.0F;
  const double weights = 0.5 + 1.5 + 2.5;
  EXPECT_NEAR(image.angle(), (0.5 * kRight / 2 + 1.5 * kRight + 2.5 * kRight / 2) / weights, 1e-12);
  EXPECT_NEAR(measured_angle(image.cells(), 5, 9, 3, LayerWeight::kEqual), kRight * 2 / 3, 1e-12);
}

// Two layers, two cells aside in x and one in y: p = sqrt(1 + 1/4) from the barycentre half-way, m = (1/2) / p.
TEST(MeasuredAngle, TheTiltInXLengthensTheBase) {
  Image image(5, 5, 2);
  image.at(1, 1, 0) = 1;
  image.at(3, 2, 1) = 1;
  EXPECT_NEAR(image.angle(), kRight - std::atan(0.5 / std::sqrt(1.25)), 1e-12);
}

TEST(MeasuredAngle, LayersWithoutEnergyDoNotCount) {
  Image image(3, 5, 9);
  image.at(1, 1, 0) = 1;
  image.at(1, 3, 8) = 1;
  EXPECT_NEAR(image.angle(), kRight - std::atan(1.0 / 4.0), 1e-12);
}

TEST(MeasuredAngle, TheUnitDoesNotMatter) {
  Image image(4, 4, 3);
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t k = 0; k < 3; ++k) image.at(i, (i + k) % 4, k) = 0.25F * static_cast<float>(1 + i * k);
  std::vector<float> scaled = image.cells();
  for (float& cell : scaled) cell *= 64;  // exact in binary
  EXPECT_DOUBLE_EQ(measured_angle(scaled, 4, 4, 3), image.angle());
}

TEST(MeasuredAngle, OfManyImages) {
  Image one(5, 5, 4), empty(5, 5, 4);
  one.at(0, 0, 1) = 1;
  std::vector<float> both = one.cells();
  both.insert(both.end(), empty.cells().begin(), empty.cells().end());
  EXPECT_EQ(measured_angles(both, 5, 5, 4), (std::vector<double>{kRight, 100}));
}

}  // namespace
}  // namespace linac::physics
