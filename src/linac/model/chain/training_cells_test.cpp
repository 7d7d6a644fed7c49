#include "linac/model/chain/training_cells.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linac/model/chain/shower_chain.h"
#include "linac/model/chain/test_parts.h"

namespace linac::chain {
namespace {

constexpr float kEnergy_gev = 50, kTheta = 1.3F;
const RngKey kKey{.seed = 5, .stream = Stream::kCells};

// Of the test's networks.
struct Drawn {
  ChainParts parts = test_parts(1);
  std::vector<std::vector<float>> images;
  std::vector<Axis> entries;

  explicit Drawn(uint64_t showers) {
    const ShowerChain chain(parts, "test");
    ShowerChain::Workspace workspace(chain);
    for (uint64_t event = 0; event < showers; ++event) {
      images.emplace_back(static_cast<size_t>(chain.shape().cells()));
      entries.push_back(chain.make(kEnergy_gev, kTheta, chain_key(3, event), images.back(), workspace));
    }
  }
  MonteCarloShower shower(size_t event) const { return {kEnergy_gev, kTheta, entries[event], images[event]}; }
  TrainingRows rows(size_t event, const RngKey& key, bool mirror = false) const {
    TrainingRows rows;
    TrainingCells(parts, parts.layer_energy.scale(), parts.network.edges).add(shower(event), key, mirror, rows);
    return rows;
  }
};

TEST(TrainingCells, TheCellsTakenStandForAll) {
  const Drawn drawn(20);
  double empty = 0, hits = 0, expected_hits = 0;
  size_t taken = 0;
  for (size_t event = 0; event < drawn.images.size(); ++event) {
    const TrainingRows rows = drawn.rows(event, {.seed = event, .stream = Stream::kCells});
    taken += rows.cells();
    for (size_t i = 0; i < rows.cells(); ++i) (rows.classes[i] == kNoHit ? empty : hits) += rows.weights[i];
    expected_hits += static_cast<double>(std::ranges::count_if(drawn.images[event], [](float e) { return e > 0; }));
    EXPECT_EQ(rows.layers(), static_cast<size_t>(kTestLayers));
    EXPECT_EQ(rows.features.size(), rows.cells() * static_cast<size_t>(kCellFeatures + shared_features(kTestLayers)));
  }
  const auto all = static_cast<double>(drawn.images.size() * drawn.images[0].size());
  EXPECT_EQ(hits, expected_hits);
  EXPECT_LT(static_cast<double>(taken), 0.4 * all);
  EXPECT_NEAR((empty + hits) / all, 1, 0.05);
}

TEST(TrainingCells, FollowFromTheKey) {
  const Drawn drawn(2);
  const TrainingRows one = drawn.rows(0, kKey), again = drawn.rows(0, kKey);
  RngKey other = kKey;
  other.step = 1;
  EXPECT_EQ(one.features, again.features);
  EXPECT_EQ(one.weights, again.weights);
  EXPECT_NE(one.cells(), drawn.rows(0, other).cells());
}

TEST(TrainingCells, BothSidesAndTheMirrorImageAreOneShower) {
  const Drawn drawn(1);
  TrainingCells cells(drawn.parts, drawn.parts.layer_energy.scale(), drawn.parts.network.edges);
  std::vector<float> turned(drawn.images[0].size());
  for (int64_t i = 0; i < kTestCells; ++i)
    for (int64_t j = 0; j < kTestCells; ++j)
      for (int64_t z = 0; z < kTestLayers; ++z)
        turned[static_cast<size_t>((i * kTestCells + kTestCells - 1 - j) * kTestLayers + z)] =
            drawn.images[0][static_cast<size_t>((i * kTestCells + j) * kTestLayers + z)];
  TrainingRows one, other;
  cells.add(drawn.shower(0), kKey, false, one);
  const Axis entry{drawn.entries[0].x, static_cast<float>(kTestCells) - drawn.entries[0].y};
  cells.add({kEnergy_gev, static_cast<float>(std::numbers::pi) - kTheta, entry, turned}, kKey, false, other);
  ASSERT_EQ(one.layers(), other.layers());
  for (size_t i = 0; i < one.layer_inputs.size(); ++i) EXPECT_NEAR(one.layer_inputs[i], other.layer_inputs[i], 1e-4);
  const auto energies = one.layer_widths;
  TrainingRows mirrored;
  cells.add(drawn.shower(0), kKey, true, mirrored);
  for (size_t z = 0; z < energies.size(); ++z) EXPECT_NEAR(mirrored.layer_widths[z], energies[z], 1e-4);
}

TEST(TrainingCells, ClassesTakeWhatLiesBeyondTheirEdges) {
  const std::vector<float> edges{-4, -2, -1};
  EXPECT_EQ(class_of(edges, std::exp2(-3.0F)), 0);
  EXPECT_EQ(class_of(edges, std::exp2(-2.0F)), 1);
  EXPECT_EQ(class_of(edges, 1e-9F), 0);
  EXPECT_EQ(class_of(edges, 8), 1);
}

}  // namespace
}  // namespace linac::chain
