#include "linac/physics/physics/energy_spots.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "linac/base/base/rng.h"

namespace linac::physics {
namespace {

constexpr size_t kSpots = 200000;

struct Placed {
  std::vector<int32_t> x, y;
};

Placed place(const SpotLaw& law) {
  std::vector<uint32_t> bits(2 * kSpots);
  fill_bits({.seed = 3, .stream = Stream::kShower}, 0, bits);
  Placed placed{std::vector<int32_t>(kSpots), std::vector<int32_t>(kSpots)};
  place_spots(bits, law, placed.x, placed.y);
  return placed;
}

// Cells of 1 are small against radii of 200 and 600: the share within r is r^2 / (r^2 + R^2), over its value at the
// cut.
TEST(EnergySpots, CoreAndTailFollowTheirLaw) {
  const SpotLaw law{.core = 200, .tail = 600, .core_weight = 0.7, .limit = 3000, .x = 0.5, .y = 0.5, .y_stretch = 1};
  const Placed placed = place(law);
  const auto share = [&](double r, double radius) {
    return r * r / (r * r + radius * radius) * (1 + radius * radius / (law.limit * law.limit));
  };
  for (const double r : {50.0, 200.0, 500.0, 1000.0, 2000.0}) {
    double within = 0;
    for (size_t i = 0; i < kSpots; ++i) within += std::hypot(placed.x[i], placed.y[i]) < r ? 1 : 0;
    EXPECT_NEAR(within / kSpots, 0.7 * share(r, 200) + 0.3 * share(r, 600), 0.005) << r;
  }
}

TEST(EnergySpots, DirectionsAreUniform) {
  const Placed placed =
      place({.core = 200, .tail = 600, .core_weight = 0.5, .limit = 3000, .x = 0.5, .y = 0.5, .y_stretch = 1});
  constexpr int kSectors = 24;
  std::vector<double> sectors(kSectors);
  for (size_t i = 0; i < kSpots; ++i) {
    const double angle = std::atan2(placed.y[i] + 1e-3, placed.x[i] + 1e-3) / (2 * M_PI) + 0.5;
    ++sectors[static_cast<size_t>(angle * kSectors) % kSectors];
  }
  for (const double count : sectors) EXPECT_NEAR(count * kSectors / kSpots, 1, 0.06);
}

TEST(EnergySpots, NoneBeyondTheLimit) {
  const Placed placed =
      place({.core = 3, .tail = 30, .core_weight = 0.5, .limit = 20, .x = 10.5, .y = -7.5, .y_stretch = 2});
  for (size_t i = 0; i < kSpots; ++i) {
    EXPECT_LE(std::abs(placed.x[i] - 10), 21);
    EXPECT_LE(std::abs(placed.y[i] + 8), 41);
  }
}

TEST(EnergySpots, ANarrowSpotLiesInItsCell) {
  for (const double weight : {0.0, 1.0}) {
    const Placed placed =
        place({.core = 1e-6, .tail = 1e-6, .core_weight = weight, .limit = 1e-3, .x = -2.5, .y = 7.5, .y_stretch = 1});
    for (size_t i = 0; i < kSpots; ++i) {
      ASSERT_EQ(placed.x[i], -3);
      ASSERT_EQ(placed.y[i], 7);
    }
  }
}

TEST(SpotEnergies, MeanIsOne) {
  for (const double spread : {0.0, 1.0, 2.0}) {
    const SpotEnergies energies(spread);
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < 32; ++i) {
      const double energy = energies.of(i << 3);
      sum += energy;
      squares += energy * energy;
    }
    EXPECT_NEAR(sum / 32, 1, 1e-5);
    // The variance of the exponential distribution is 1; the outermost 32nd is cut short.
    const double variance = squares / 32 - 1;
    EXPECT_NEAR(variance, spread == 0 ? 0 : spread == 1 ? 0.93 : 4, spread == 2 ? 1.5 : 0.05);
  }
}

}  // namespace
}  // namespace linac::physics
