// The fast simulation against the Geant4 showers of data/showers-test.h5, at the same energies and angles. They belong
// to the production that it was tuned on, so this guards the code, not the tuning (docs/guide/physics/simulation.md has the
// comparison with showers that took no part). 64 showers leave 1 % on the response and up to 8 % on a layer's mean: the
// limits are wide.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <vector>

#include "linac/io/data/dataset.h"
#include "linac/physics/physics/shower_simulation.h"

namespace linac::physics {
namespace {

constexpr int64_t kX = 51, kY = 51, kLayers = 25;
constexpr int64_t kSimulatedPerShower = 10;
constexpr double kPitch_mm = 5.1;

// Sums over showers.
struct Summary {
  std::vector<double> profile = std::vector<double>(kLayers);  // mean of energy / primary energy
  std::vector<double> responses;
  double radius90_mm = 0;  // mean
  double hits = 0;         // mean cells above 1e-4 GeV

  void add(std::span<const float> image, double energy_gev, double weight) {
    double response = 0, x = 0, y = 0;
    for (size_t i = 0; i < image.size(); ++i) {
      const auto column = static_cast<int64_t>(i) / kLayers;
      profile[i % kLayers] += image[i] / energy_gev * weight;
      response += image[i] / energy_gev;
      x += image[i] / energy_gev * static_cast<double>(column / kY);
      y += image[i] / energy_gev * static_cast<double>(column % kY);
      hits += image[i] > 1e-4F ? weight : 0;
    }
    responses.push_back(response);
    radius90_mm += weight * radius_of_90_percent(image, x / response, y / response);
  }

  double mean_response() const {
    return std::accumulate(responses.begin(), responses.end(), 0.0) / static_cast<double>(responses.size());
  }
  double response_width() const {
    double square = 0;
    for (const double response : responses) square += std::pow(response - mean_response(), 2);
    return std::sqrt(square / static_cast<double>(responses.size()));
  }

 private:
  static double radius_of_90_percent(std::span<const float> image, double x, double y) {
    std::vector<std::pair<double, double>> columns;  // radius, energy
    double energy = 0;
    for (int64_t i = 0; i < kX * kY; ++i) {
      const auto layers = image.subspan(static_cast<size_t>(i * kLayers), kLayers);
      const double column = std::accumulate(layers.begin(), layers.end(), 0.0);
      columns.emplace_back(std::hypot(static_cast<double>(i / kY) - x, static_cast<double>(i % kY) - y), column);
      energy += column;
    }
    std::sort(columns.begin(), columns.end());
    double within = 0;
    for (const auto& [radius, column] : columns) {
      within += column;
      if (within >= 0.9 * energy) return radius * kPitch_mm;
    }
    return 0;
  }
};

TEST(SimulationAgainstGeant4, ShowersOfTheRepository) {
  data::Preprocessing everything;
  everything.min_sum = -1;
  const auto dataset = data::Dataset::open({"data/showers-test.h5"}, {}, everything);
  ASSERT_EQ(dataset->shape(), (data::EventShape{kX, kY, kLayers}));
  const ShowerSimulation simulation(clic_ecal());
  ShowerSimulation::Workspace workspace;
  Summary geant4, simulated;
  const double weight = 1.0 / static_cast<double>(dataset->size());
  std::vector<float> image(static_cast<size_t>(kX * kY * kLayers));
  for (int64_t event = 0; event < dataset->size(); ++event) {
    data::ShowerBlock shower;
    dataset->read_stored(event, shower);
    ASSERT_EQ(shower.units, data::Units::kRaw);
    geant4.add(shower.image, shower.energy[0], weight);
    for (int64_t i = 0; i < kSimulatedPerShower; ++i) {
      const RngKey key = shower_key(1, static_cast<uint64_t>(event * kSimulatedPerShower + i));
      simulation.simulate(shower.energy[0], shower.angle[0], key, image, workspace);
      simulated.add(image, shower.energy[0], weight / kSimulatedPerShower);
    }
  }
  EXPECT_NEAR(simulated.mean_response() / geant4.mean_response(), 1, 0.04);
  EXPECT_NEAR(simulated.response_width() / geant4.response_width(), 1, 0.4);
  EXPECT_NEAR(simulated.radius90_mm / geant4.radius90_mm, 1, 0.15);
  EXPECT_NEAR(simulated.hits / geant4.hits, 1, 0.15);
  for (size_t layer = 4; layer < 21; ++layer)
    EXPECT_NEAR(simulated.profile[layer] / geant4.profile[layer], 1, 0.2) << "layer " << layer + 1;
}

}  // namespace
}  // namespace linac::physics
