#include "linac/physics/physics/observables.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "linac/physics/physics/measured_angle.h"

namespace linac::physics {
namespace {

constexpr EventShape kShape{9, 11, 12};

struct Image {
  explicit Image(const EventShape& shape = kShape) : shape(shape), cells(static_cast<size_t>(shape.cells())) {}
  float& at(int64_t x, int64_t y, int64_t z) { return cells[static_cast<size_t>((x * shape.y + y) * shape.z + z)]; }
  EventShape shape;
  std::vector<float> cells;
};

Shower look_at(const Image& image, double energy_gev = 10, double threshold_gev = 0) {
  Observer observer(image.shape, threshold_gev);
  return observer.observe(image.cells, energy_gev, 1.5);
}

TEST(Observer, OneCell) {
  Image image;
  image.at(3, 4, 5) = 0.5F;
  const Shower shower = look_at(image);
  const auto& v = shower.values;
  EXPECT_FLOAT_EQ(v[kTotal], 0.5F);
  EXPECT_FLOAT_EQ(v[kResponse], 0.05F);
  EXPECT_FLOAT_EQ(v[kMeanX], 3.5F);
  EXPECT_FLOAT_EQ(v[kMeanY], 4.5F);
  EXPECT_FLOAT_EQ(v[kDepthMean], 5.5F);
  EXPECT_FLOAT_EQ(v[kDepthMaximum], 5);
  for (const Observable width : {kWidthX, kWidthY, kDepthWidth}) EXPECT_FLOAT_EQ(v[width], 0);
  EXPECT_FLOAT_EQ(v[kFirstThird], 0);
  EXPECT_FLOAT_EQ(v[kMiddleThird], 1);
  EXPECT_FLOAT_EQ(v[kCells], 1);
  EXPECT_FLOAT_EQ(v[kMaximumCell], 0.5F);
  // Its energy is spread over 3x3 points: one ninth at 0, four at 1/3, four at sqrt(2)/3; rings are 1/8 wide.
  EXPECT_NEAR(v[kRadius50], 1.0 / 3, 1.0 / 8);
  EXPECT_NEAR(v[kRadius90], std::sqrt(2.0) / 3, 1.0 / 8);
  EXPECT_DOUBLE_EQ(shower.spectrum[static_cast<size_t>(-1 - kSpectrumFirst)], 1);  // 2^-1
}

TEST(Observer, ALineAlongDepth) {
  Image image;
  for (int64_t z = 0; z < kShape.z; ++z) image.at(4, 5, z) = 1;
  const auto v = look_at(image).values;
  EXPECT_FLOAT_EQ(v[kDepthMean], 6);
  EXPECT_NEAR(v[kDepthWidth], std::sqrt((12 * 12 - 1) / 12.0), 1e-6);
  for (const Observable third : {kFirstThird, kMiddleThird, kLastThird}) EXPECT_NEAR(v[third], 1.0 / 3, 1e-6);
  EXPECT_NEAR(v[kAngle], std::numbers::pi / 2, 1e-6);
  EXPECT_FLOAT_EQ(v[kDepthMaximum], 0);  // the first of equal ones
}

TEST(Observer, AGaussianAcross) {
  const EventShape shape{41, 41, 1};
  Image image(shape);
  const double sigma = 4;
  for (int64_t x = 0; x < 41; ++x)
    for (int64_t y = 0; y < 41; ++y)
      image.at(x, y, 0) =
          static_cast<float>(std::exp(-((x - 20.0) * (x - 20.0) + (y - 20.0) * (y - 20.0)) / 2 / sigma / sigma));
  const auto v = look_at(image).values;
  EXPECT_NEAR(v[kMeanX], 20.5, 1e-4);
  EXPECT_NEAR(v[kWidthX], sigma, 1e-3);
  // Inside r is 1 - exp(-r^2 / 2 sigma^2).
  EXPECT_NEAR(v[kRadius50], sigma * std::sqrt(2 * std::log(2.0)), 0.05);
  EXPECT_NEAR(v[kRadius90], sigma * std::sqrt(2 * std::log(10.0)), 0.05);
}

TEST(Observer, AnEmptyImageIsAllZero) {
  const auto v = look_at(Image()).values;
  for (size_t o = 0; o < kObservables; ++o) EXPECT_FLOAT_EQ(v[o], o == kAngle ? kEmptyImageAngle : 0) << o;
}

TEST(Observer, ForgetsTheShowerBefore) {
  Image full, one;
  for (float& cell : full.cells) cell = 1;
  one.at(0, 0, 0) = 0.25F;
  Observer observer(kShape, 0.1);
  observer.observe(full.cells, 1, 1);
  const Shower& second = observer.observe(one.cells, 1, 1);
  EXPECT_FLOAT_EQ(second.values[kTotal], 0.25F);
  EXPECT_EQ(second.maps.events, 1);
  EXPECT_DOUBLE_EQ(second.spectrum[static_cast<size_t>(-2 - kSpectrumFirst)], 1);
}

TEST(Observables, AnglesFromMapsAndFromTheImageAgree) {
  Image image;
  for (size_t i = 0; i < image.cells.size(); ++i) image.cells[i] = static_cast<float>((i * 7919) % 13);
  Projections maps(kShape.x, kShape.y, kShape.z);
  maps.add(image.cells);
  for (const LayerWeight weight : {LayerWeight::kDepth, LayerWeight::kEqual}) {
    EXPECT_NEAR(measured_angle(maps, weight), measured_angle(image.cells, kShape.x, kShape.y, kShape.z, weight), 1e-12);
  }
}

TEST(Observables, ThirdsShareTheLayersOnTheirBorders) {
  const auto parts = thirds(std::vector<double>{1, 1, 1, 1});
  for (const double part : parts) EXPECT_NEAR(part, 1.0 / 3, 1e-12);
}

TEST(Observables, TheThresholdIsExclusive) {
  EXPECT_EQ(cells_above(std::vector<float>{0, 0.5F, 1, 2}, 0.5), 2);
}

TEST(Observables, TheSpectrumKeepsWhatLiesBeyond) {
  std::vector<double> bins(kSpectrumBins);
  add_spectrum(std::vector<float>{1e-12F, 1e6F, 0, 1.5F}, bins);
  EXPECT_EQ(bins.front(), 1);
  EXPECT_EQ(bins.back(), 1);
  EXPECT_EQ(bins[static_cast<size_t>(-kSpectrumFirst)], 1);
}

}  // namespace
}  // namespace linac::physics
