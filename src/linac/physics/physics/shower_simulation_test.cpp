#include "linac/physics/physics/shower_simulation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/thread_pool.h"

namespace linac::physics {
namespace {

constexpr double kRight = M_PI / 2;

std::vector<float> simulate(const ShowerSimulation& simulation, double energy_gev, double theta, uint64_t event) {
  ShowerSimulation::Workspace workspace;
  std::vector<float> image(static_cast<size_t>(simulation.geometry().image_cells()), 7.0F);
  simulation.simulate(energy_gev, theta, shower_key(11, event), image, workspace);
  return image;
}

double sum(const std::vector<float>& image) {
  return std::accumulate(image.begin(), image.end(), 0.0);
}

// Sensors throughout: all the energy is visible, and the stack is deep enough to hold it.
Geometry all_sensor(int64_t layers = 80, double layer_x0 = 0.5) {
  return {"all-sensor",
          {{"lead-tungstate", 65, 160, 8.28, 10, 10}},
          {{layers, {{"lead-tungstate", 10 * layer_x0, true}}}},
          {101, 101, 10}};
}

// Every shower alike but for the sampling.
Tuning without_shape_fluctuations() {
  Tuning tuning = Tuning::untuned();
  tuning.maximum_spread_scale = 0;
  tuning.alpha_spread_scale = 0;
  return tuning;
}

TEST(ShowerSimulation, AShowerIsAFunctionOfItsKey) {
  const ShowerSimulation simulation(clic_ecal());
  const auto image = simulate(simulation, 50, 1.3, 4);
  EXPECT_EQ(image, simulate(simulation, 50, 1.3, 4));
  EXPECT_NE(image, simulate(simulation, 50, 1.3, 5));
  EXPECT_NE(image, simulate(simulation, 50, 1.3, 4 + (uint64_t{1} << 32)));
  EXPECT_NE(image, simulate(simulation, 50.1, 1.3, 4));
  // A used workspace and a used image leave no trace.
  ShowerSimulation::Workspace workspace;
  std::vector<float> again(image.size(), 3.0F);
  simulation.simulate(100, 1.8, shower_key(11, 9), again, workspace);
  simulation.simulate(50, 1.3, shower_key(11, 4), again, workspace);
  EXPECT_EQ(image, again);
}

TEST(ShowerSimulation, ThreadsChangeNothing) {
  const ShowerSimulation simulation(load_geometry("examples/geometry/small.yaml"));
  constexpr int kShowers = 40;
  std::vector<std::vector<float>> wanted, found(kShowers);
  for (int i = 0; i < kShowers; ++i) wanted.push_back(simulate(simulation, 10 + i, 1.2, static_cast<uint64_t>(i)));
  ThreadPool pool(4);
  pool.run(kShowers, [&](int i) {
    const int event = kShowers - 1 - i;
    found[static_cast<size_t>(event)] = simulate(simulation, 10 + event, 1.2, static_cast<uint64_t>(event));
  });
  EXPECT_EQ(wanted, found);
}

TEST(ShowerSimulation, VisibleEnergyFollowsTheSampling) {
  // All of it, then the part that the stack states.
  const ShowerSimulation whole(all_sensor(), Tuning::untuned());
  Geometry sampled = all_sensor();
  sampled.materials.push_back({"gap", 65, 160, 8.28, 10, 10});
  sampled.layers[0].slices = {{"gap", 4}, {"lead-tungstate", 1, true}};
  const ShowerSimulation fifth(sampled, Tuning::untuned());
  double whole_sum = 0, fifth_sum = 0;
  constexpr int kShowers = 100;
  for (uint64_t i = 0; i < kShowers; ++i) {
    whole_sum += sum(simulate(whole, 20, kRight, i)) / 20;
    fifth_sum += sum(simulate(fifth, 20, kRight, i)) / 20;
  }
  // The window holds all but the far tail; 4.2 % / sqrt(100) is the statistical error.
  EXPECT_NEAR(whole_sum / kShowers, 1, 0.02);
  EXPECT_NEAR(fifth_sum / kShowers, 0.2, 0.004);
}

// Without fluctuations of the shape the mean profile is the Gamma distribution: integrated numerically here.
TEST(ShowerSimulation, MeanLongitudinalProfileIsTheGammaDistribution) {
  const Geometry geometry = all_sensor(40, 0.5);
  const ShowerSimulation simulation(geometry, without_shape_fluctuations());
  const LongitudinalLaw law = longitudinal_law(30, effective_medium(geometry), without_shape_fluctuations());
  const double alpha = std::exp(law.ln_alpha), beta = (alpha - 1) / std::exp(law.ln_maximum);
  for (const double theta : {kRight, 1.2}) {
    constexpr int kShowers = 300;
    std::vector<double> profile(40);
    for (uint64_t event = 0; event < kShowers; ++event) {
      const auto image = simulate(simulation, 30, theta, event);
      for (size_t i = 0; i < image.size(); ++i) profile[i % 40] += image[i] / 30.0 / kShowers;
    }
    for (size_t layer = 0; layer < profile.size(); ++layer) {
      double wanted = 0;
      const double step = 0.5 / std::sin(theta) / 100;
      for (int i = 0; i < 100; ++i) {
        const double t = (static_cast<double>(layer) * 100 + i + 0.5) * step;
        wanted += step * beta * std::pow(beta * t, alpha - 1) * std::exp(-beta * t) / std::tgamma(alpha);
      }
      EXPECT_NEAR(profile[layer], wanted, 0.0015 + 0.02 * wanted) << "layer " << layer << " theta " << theta;
    }
  }
}

TEST(ShowerSimulation, SamplingFluctuationsFallWithTheEnergy) {
  const ShowerSimulation simulation(all_sensor(), without_shape_fluctuations());
  constexpr int kShowers = 500;
  for (const double energy_gev : {5.0, 80.0}) {
    double mean = 0, square = 0;
    for (uint64_t event = 0; event < kShowers; ++event) {
      const double response = sum(simulate(simulation, energy_gev, kRight, event)) / energy_gev;
      mean += response / kShowers;
      square += response * response / kShowers;
    }
    const double wanted = Tuning::untuned().sampling_resolution * std::sqrt(0.5 / energy_gev);
    EXPECT_NEAR(std::sqrt(square - mean * mean) / mean / wanted, 1, 0.15) << energy_gev;
  }
}

TEST(ShowerSimulation, TheBarycentreIsInTheMiddleCell) {
  for (const Geometry& geometry : {clic_ecal(), load_geometry("examples/geometry/small.yaml")}) {
    const ShowerSimulation simulation(geometry);
    constexpr int kShowers = 100;
    int inside = 0;
    for (uint64_t event = 0; event < kShowers; ++event) {
      const auto image = simulate(simulation, 20 + static_cast<double>(event) / 2, 1.05 + 0.01 * event, event);
      double energy = 0, x = 0, y = 0;
      for (size_t i = 0; i < image.size(); ++i) {
        const auto column = static_cast<int64_t>(i) / geometry.depth();
        energy += image[i];
        x += image[i] * static_cast<double>(column / geometry.cells.y);
        y += image[i] * static_cast<double>(column % geometry.cells.y);
      }
      inside += std::llround(x / energy) == geometry.cells.x / 2 && std::llround(y / energy) == geometry.cells.y / 2;
    }
    // The image's own barycentre lacks what fell outside the window: rarely a cell's border lies between the two.
    EXPECT_GE(inside, 98) << geometry.name;
  }
}

TEST(ShowerSimulation, TheEntryIsWhereTheAxisMeetsTheFrontFace) {
  const Geometry geometry = clic_ecal();
  const ShowerSimulation simulation(geometry);
  const std::vector<SampledLayer> layers = sampled_layers(geometry);
  const double pitch_mm = geometry.cells.pitch_mm;
  std::vector<float> image(static_cast<size_t>(geometry.image_cells()));
  ShowerSimulation::Workspace workspace;
  for (const double theta : {kRight, 1.2}) {
    constexpr int kShowers = 60;
    double off_x = 0, off_y = 0, apart = 0;
    for (uint64_t event = 0; event < kShowers; ++event) {
      const Entry entry = simulation.simulate(60, theta, shower_key(5, event), image, workspace);
      EXPECT_LE(std::abs(entry.x_mm), pitch_mm / 2);
      EXPECT_LE(std::abs(entry.y_mm), pitch_mm / 2);
      double energy = 0, x = 0, y = 0;  // cells from the axis, of layers with much energy
      for (size_t i = 0; i < image.size(); ++i) {
        const auto layer = i % 25;
        if (layer < 5 || layer > 15) continue;
        const double depth = layers[layer].sensor_depth_mm / pitch_mm / std::tan(theta);
        energy += image[i];
        x += image[i] *
             (static_cast<double>(i / 25 / 51) - 25 + static_cast<double>(entry.shift_x) - entry.x_mm / pitch_mm);
        y += image[i] * (static_cast<double>(i / 25 % 51) - 25 + static_cast<double>(entry.shift_y) -
                         entry.y_mm / pitch_mm - depth);
      }
      off_x += x / energy / kShowers;
      off_y += y / energy / kShowers;
      apart = std::max({apart, std::abs(x / energy), std::abs(y / energy)});
    }
    EXPECT_NEAR(off_x, 0, 0.03) << theta;
    EXPECT_NEAR(off_y, 0, 0.03) << theta;
    EXPECT_LT(apart, 0.4) << theta;
  }
}

TEST(ShowerSimulation, TheAngleTiltsTheImageAlongY) {
  const Geometry geometry = clic_ecal();
  const ShowerSimulation simulation(geometry);
  double first = 0, last = 0, first_energy = 0, last_energy = 0;
  for (uint64_t event = 0; event < 50; ++event) {
    const auto image = simulate(simulation, 50, M_PI / 3, event);
    for (size_t i = 0; i < image.size(); ++i) {
      const int64_t layer = static_cast<int64_t>(i) % 25, y = static_cast<int64_t>(i) / 25 % 51;
      if (layer == 5) first += image[i] * static_cast<double>(y), first_energy += image[i];
      if (layer == 15) last += image[i] * static_cast<double>(y), last_energy += image[i];
    }
  }
  // Ten layers of 4.4 mm at 60 degrees: 44 mm / tan 60 = 25.4 mm = 4.98 cells.
  EXPECT_NEAR(last / last_energy - first / first_energy, 44 / std::tan(M_PI / 3) / 5.1, 0.3);
}

TEST(ShowerSimulation, OtherSizes) {
  for (const auto& [nx, ny, nz] : {std::array<int64_t, 3>{10, 10, 45}, {24, 24, 24}, {1, 1, 1}, {7, 33, 2}}) {
    Geometry geometry = all_sensor(nz);
    geometry.cells = {nx, ny, 12};
    const ShowerSimulation simulation(geometry);
    const auto image = simulate(simulation, 30, 1.4, 1);
    EXPECT_EQ(static_cast<int64_t>(image.size()), nx * ny * nz);
    if (nz >= 10) {
      EXPECT_GT(sum(image), 10);
    }
    EXPECT_LT(sum(image), 45);
    for (const float cell : image) EXPECT_TRUE(cell == 0 || cell >= static_cast<float>(kCellThreshold_gev));
  }
}

TEST(ShowerSimulation, ImpossibleRequestsAreUserErrors) {
  EXPECT_THROW(check_primary(0, kRight, "test"), Error);
  EXPECT_THROW(check_primary(NAN, kRight, "test"), Error);
  EXPECT_THROW(check_primary(1e6, kRight, "test"), Error);
  EXPECT_THROW(check_primary(10, 0.1, "test"), Error);
  EXPECT_THROW(check_primary(10, 3.5, "test"), Error);
  EXPECT_NO_THROW(check_primary(kShowerEnergyMin_gev, 2.0, "test"));
  Geometry fine = clic_ecal();
  fine.cells.pitch_mm = 0.01;
  EXPECT_THROW(ShowerSimulation{fine}, Error);
  fine.cells.pitch_mm = 0;
  EXPECT_THROW(ShowerSimulation{fine}, Error);
}

TEST(ShowerSimulation, TheLimitsOfEnergyAreSimulated) {
  Geometry light = all_sensor();
  light.materials[0].z = 6;
  for (const Geometry& geometry : {clic_ecal(), light}) {
    const ShowerSimulation simulation(geometry);
    for (const double energy_gev : {kShowerEnergyMin_gev, 1.0, 1000.0}) {
      for (uint64_t event = 0; event < 10; ++event) {
        for (const float cell : simulate(simulation, energy_gev, kRight, event))
          ASSERT_TRUE(std::isfinite(cell) && cell >= 0);
      }
    }
  }
}

}  // namespace
}  // namespace linac::physics
