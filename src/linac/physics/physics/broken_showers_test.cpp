#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "linac/physics/physics/comparison.h"
#include "linac/physics/physics/two_sample.h"

namespace linac::physics {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();
constexpr EventShape kShape{4, 4, 6};

// Showers whose first cell is 1 to 20 GeV, but for those that are `broken`.
Sample make_sample(uint32_t lane, int broken_from, float broken) {
  Sample sample(kShape, {.energy_edges = {0, 100}, .angle_edges = {0, 3}, .lane = lane, .wanted = {}});
  Observer observer(kShape, 1e-4);
  std::vector<float> image(static_cast<size_t>(kShape.cells()));
  for (int event = 0; event < 20; ++event) {
    std::fill(image.begin(), image.end(), 0.01F);
    image[0] = event < broken_from ? static_cast<float>(1 + event) : broken;
    sample.add(observer.observe(image, 50, 1.5));
  }
  return sample;
}

double value_of(const std::vector<Figure>& figures, const std::string& name) {
  const auto found = std::find_if(figures.begin(), figures.end(), [&](const Figure& one) { return one.name == name; });
  return found == figures.end() ? -1 : found->value;
}

TEST(Binning, TakesWhatIsNoNumber) {
  const Binning binning{.low = 0, .high = 1, .bins = 10};
  EXPECT_EQ(binning.bin_of(kNan), 0U);
  EXPECT_EQ(binning.bin_of(kInfinity), 9U);
  EXPECT_EQ(binning.bin_of(-kInfinity), 0U);
}

TEST(RadialProfile, OfInfiniteEnergyIsEmpty) {
  std::vector<double> map(16, 1);
  map[3] = kInfinity;
  const auto rings = radial_profile(map, 4, 4, 1);
  EXPECT_EQ(std::accumulate(rings.begin(), rings.end(), 0.0), 0);
}

TEST(Compare, CountsBrokenShowersAsDifferent) {
  const Sample good = make_sample(0, 20, 0);
  EXPECT_EQ(value_of(compare(good, make_sample(1, 20, 0)), "ks.total"), 0);
  // The last quarter is wrong, and the rest agrees.
  EXPECT_NEAR(value_of(compare(good, make_sample(1, 15, kNan)), "ks.total"), 0.25, 1e-6);
  EXPECT_NEAR(value_of(compare(good, make_sample(1, 15, kInfinity)), "ks.total"), 0.25, 1e-6);
  EXPECT_NEAR(value_of(compare(make_sample(0, 15, kNan), make_sample(1, 20, 0)), "ks.total"), 0.25, 1e-6);
  EXPECT_FALSE(std::isfinite(value_of(compare(good, make_sample(1, 15, kNan)), "wasserstein.total")));
}

}  // namespace
}  // namespace linac::physics
