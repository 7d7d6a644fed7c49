#include "linac/model/models/cell_chain/cell_chain.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "linac/base/base/error.h"

namespace linac::models::cell_chain {
namespace {

constexpr int64_t kCells = 15, kLayers = 3, kShowers = 40;
constexpr float kStep = 5e-3F;

job::CellChainSettings settings() {
  job::CellChainSettings settings;
  settings.hidden = 8;
  settings.layer_hidden = 8;
  settings.classes = 12;
  settings.halo_cells = 4;
  return settings;
}

// A bright core and a few hits about it, whose energies go with the primary's.
class Showers {
 public:
  Showers() {
    for (int64_t shower = 0; shower < kShowers; ++shower) {
      std::vector<float>& image = images_.emplace_back(static_cast<size_t>(kCells * kCells * kLayers));
      std::vector<float> uniform(64);
      fill_uniform({.seed = 1, .stream = Stream::kShower, .step = static_cast<uint32_t>(shower)}, uniform);
      for (int64_t hit = 0; hit < 15; ++hit) {
        const float* draw = &uniform[static_cast<size_t>(4 * hit)];
        const auto place = [](float u) { return static_cast<int64_t>(7.5F + 6 * (u - 0.5F) * std::abs(u - 0.5F) * 2); };
        const auto z = static_cast<int64_t>(draw[2] * kLayers);
        image[static_cast<size_t>((place(draw[0]) * kCells + place(draw[1])) * kLayers + z)] =
            1e-3F * energy(shower) / 10 * (0.1F + draw[3]);
      }
    }
  }
  static float energy(int64_t shower) { return 10 + static_cast<float>(shower); }
  chain::MonteCarloShower at(int64_t shower) const {
    return {energy(shower), 1.4F, {7.4F, 7.2F}, images_[static_cast<size_t>(shower)]};
  }
  TableShowers all() const {
    return {kShowers, {10, 10 + kShowers - 1}, [this](int64_t i, std::vector<float>&) { return at(i); }};
  }
  chain::TrainingRows rows(const Tables& tables, int64_t first, int64_t count) const {
    chain::TrainingCells cells(tables.around, tables.scale, tables.edges);
    chain::TrainingRows rows;
    for (int64_t i = first; i < first + count; ++i)
      cells.add(at(i), {.seed = 2, .stream = Stream::kCells, .step = static_cast<uint32_t>(i)}, false, rows);
    return rows;
  }

 private:
  std::vector<std::vector<float>> images_;
};

const chain::Detector kDetector{.cells = {kCells, kCells}, .sensor_depth = {0.5F, 1, 1.5F}, .middle_depth = 0};

TEST(ChainTables, ComeFromTheShowersAndSurviveTheState) {
  const Showers showers;
  const Tables tables = derive_tables(settings(), kDetector, showers.all());
  EXPECT_EQ(tables.edges.size(), 13U);
  EXPECT_TRUE(std::ranges::is_sorted(tables.edges, std::less_equal<>()));
  float low = 1, high = 0;
  for (int64_t i = 0; i < kShowers; ++i) {
    for (const float cell : showers.at(i).image) {
      if (cell > 0) low = std::min(low, cell);
      high = std::max(high, cell);
    }
  }
  EXPECT_NEAR(tables.edges.front(), std::log2(low), 0.02);
  EXPECT_NEAR(tables.edges.back(), std::log2(high), 0.02);
  EXPECT_NEAR(tables.around.units.primary_gev, std::sqrt(490.0F), 1e-3);
  EXPECT_GT(tables.around.units.cell_gev, 1e-4F);
  EXPECT_LT(tables.around.units.cell_gev, 1e-3F);
  EXPECT_GT(tables.around.detector.middle_depth, 0.5F);
  EXPECT_LT(tables.around.detector.middle_depth, 1.5F);
  EXPECT_GT(tables.around.mean_by_radius.layer(1)[2], 10 * tables.around.mean_by_radius.layer(1)[40]);
  const graph::Parameters kept = to_parameters(settings(), tables);
  EXPECT_EQ(to_parameters(settings(), tables_of(settings(), kept)).statistics, kept.statistics);
  EXPECT_EQ(to_parameters(settings(), derive_tables(settings(), kDetector, showers.all())).statistics, kept.statistics);
}

TEST(ChainTables, ShowersWithoutEnergyOrOutsideOfTheirImageAreRefused) {
  const std::vector<float> nothing(static_cast<size_t>(kCells * kCells * kLayers));
  const TableShowers empty{4, {10, 20}, [&](int64_t, std::vector<float>&) {
                             return chain::MonteCarloShower{10, 1.4F, {7, 7}, nothing};
                           }};
  EXPECT_THROW(derive_tables(settings(), kDetector, empty), Error);
  const Showers showers;
  TableShowers beside = showers.all();
  beside.read = [&](int64_t i, std::vector<float>&) {
    chain::MonteCarloShower shower = showers.at(i);
    shower.entry.x = 300;
    return shower;
  };
  EXPECT_THROW(derive_tables(settings(), kDetector, beside), Error);
}

// The same shower after shower, in other units and with other energies, as another calorimeter would have them.
Kept kept_from(const Tables& tables) {
  Kept kept{tables.scale.units, tables.edges};
  kept.units.cell_gev *= 2;
  kept.edges.front() += 1;
  kept.edges.back() += 1;
  return kept;
}

TEST(ChainTables, WhatTheWeightsCountInStaysAndTheOutermostClassesReachAllHits) {
  const Showers showers;
  const Tables fresh = derive_tables(settings(), kDetector, showers.all());
  const Kept kept = kept_from(fresh);
  const Tables tables = derive_tables(settings(), kDetector, showers.all(), &kept);
  EXPECT_EQ(tables.around.units.cell_gev, kept.units.cell_gev);
  EXPECT_EQ(tables.scale.units.cell_gev, kept.units.cell_gev);
  EXPECT_EQ(tables.edges.front(), fresh.edges.front());
  EXPECT_EQ(tables.edges.back(), kept.edges.back());
  EXPECT_TRUE(std::equal(tables.edges.begin() + 1, tables.edges.end() - 1, kept.edges.begin() + 1));
  EXPECT_EQ(tables.around.mean_by_radius.values, fresh.around.mean_by_radius.values);
}

TEST(CellChain, GoesOnAsTheSameNetworkWhateverItsFeaturesAreCountedIn) {
  const Showers showers;
  const Tables before = derive_tables(settings(), kDetector, showers.all());
  const CellChain model(settings(), kLayers);
  const graph::Parameters parameters = model.initial(7);
  const chain::ChainParts parts = parts_of(parameters, before);
  Tables after = before;
  for (size_t i = 0; i < after.feature_mean.size(); ++i) {
    after.feature_mean[i] += 0.1F * static_cast<float>(i % 7);
    after.feature_width[i] *= 0.5F + 0.25F * static_cast<float>(i % 5);
  }
  const graph::Parameters taken = parameters_of(model.graph(), parts, after);
  EXPECT_NE(taken.trainable, parameters.trainable);
  const std::vector<float> wanted = model.test(parameters, before, showers.rows(before, 0, kShowers), 1.0 / kShowers),
                           found = model.test(taken, after, showers.rows(after, 0, kShowers), 1.0 / kShowers);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-4F * std::abs(wanted[i]));
}

TEST(CellChain, LearnsAndDrawsWhatItSays) {
  const Showers showers;
  const Tables tables = derive_tables(settings(), kDetector, showers.all());
  const CellChain model(settings(), kLayers);
  graph::Parameters parameters = model.initial(7);
  const double weight = 1.0 / kShowers;
  const float before = model.test(parameters, tables, showers.rows(tables, 0, kShowers), weight)[0];
  for (int step = 0; step < 60; ++step) {
    const Contribution one = model.step(parameters, tables, showers.rows(tables, 0, kShowers), weight, {});
    ASSERT_TRUE(one.finite);
    // Steps of one length, whatever the gradient's.
    for (size_t i = 0; i < one.gradient.size(); ++i)
      parameters.trainable[i] -= one.gradient[i] > 0 ? kStep : (one.gradient[i] < 0 ? -kStep : 0);
  }
  const auto after = model.test(parameters, tables, showers.rows(tables, 0, kShowers), weight);
  EXPECT_LT(after[0], before - 20);
  EXPECT_NEAR(after[0], after[1] + after[2] + after[3], 1e-3);

  // The parts that draw take features as they are, and say the same of the cells.
  const chain::ChainParts parts = parts_of(parameters, tables);
  const chain::TrainingRows rows = showers.rows(tables, 0, kShowers);
  const auto features = static_cast<int64_t>(rows.features.size() / rows.cells());
  std::vector<float> shared(static_cast<size_t>(parts.network.shared.stride())), first(shared.size()),
      second(static_cast<size_t>(parts.network.hidden.stride())),
      logit(static_cast<size_t>(parts.network.hit.stride()));
  double hits = 0;
  for (size_t i = 0; i < rows.cells(); ++i) {
    const float* row = &rows.features[i * static_cast<size_t>(features)];
    const chain::CellNetwork& network = parts.network;
    network.shared.apply(row + chain::kCellFeatures, features, 1, chain::Activation::kNone, shared.data());
    network.cell.apply(row, features, 1, chain::Activation::kRelu, first.data(), shared.data());
    network.hidden.apply(first.data(), network.cell.stride(), 1, chain::Activation::kRelu, second.data());
    network.hit.apply(second.data(), network.hidden.stride(), 1, chain::Activation::kNone, logit.data());
    const double sign = rows.classes[i] == chain::kNoHit ? 1 : -1;
    hits += static_cast<double>(rows.weights[i]) * std::log1p(std::exp(sign * static_cast<double>(logit[0])));
  }
  EXPECT_NEAR(hits * weight, static_cast<double>(after[1]), 1e-3 * hits * weight);

  // Showers of their own have about as many hits and as much energy.
  const chain::ShowerChain chain(parts, "test");
  chain::ShowerChain::Workspace workspace(chain);
  double drawn = 0, real = 0;
  std::vector<float> image(static_cast<size_t>(chain.shape().cells()));
  for (int64_t i = 0; i < 10 * kShowers; ++i) {
    chain.make(static_cast<double>(Showers::energy(i % kShowers)), 1.4, chain::chain_key(1, static_cast<uint64_t>(i)),
               image, workspace);
    for (const float cell : image) drawn += static_cast<double>(cell) / 10;
  }
  for (int64_t i = 0; i < kShowers; ++i)
    for (const float cell : showers.at(i).image) real += static_cast<double>(cell);
  EXPECT_NEAR(drawn / real, 1, 0.25);
}

}  // namespace
}  // namespace linac::models::cell_chain
