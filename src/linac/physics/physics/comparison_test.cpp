#include "linac/physics/physics/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/rng.h"
#include "linac/physics/physics/collapse.h"
#include "linac/physics/physics/shower_record.h"
#include "linac/physics/physics/two_sample.h"

namespace linac::physics {
namespace {

constexpr EventShape kShape{9, 9, 12};
constexpr int kBootstraps = 20, kHalves = 6;

struct Change {
  double scale = 1;   // of all energies
  int64_t shift = 0;  // layers deeper
};

// A toy shower: energy falls off from the axis and rises and falls with depth, with noise.
std::vector<float> toy_image(double energy_gev, uint32_t event, const Change& change) {
  std::vector<float> image(static_cast<size_t>(kShape.cells())), noise(image.size());
  fill_uniform({.seed = 7, .lane = event}, noise);
  for (int64_t x = 0; x < kShape.x; ++x) {
    for (int64_t y = 0; y < kShape.y; ++y) {
      for (int64_t z = 0; z < kShape.z; ++z) {
        const auto i = static_cast<size_t>((x * kShape.y + y) * kShape.z + z);
        const double r2 = static_cast<double>((x - 4) * (x - 4) + (y - 4) * (y - 4));
        const double depth = static_cast<double>(std::max<int64_t>(0, z - change.shift)) / 4;
        image[i] = static_cast<float>(change.scale * energy_gev * 1e-3 * depth * depth * std::exp(-depth - r2 / 3) *
                                      (0.5 + noise[i]));
      }
    }
  }
  return image;
}

SampleOptions options(uint32_t lane) {
  return {.energy_edges = {10, 40, 100},
          .angle_edges = {1, 1.6, 2.1},
          .bootstraps = kBootstraps,
          .halves = kHalves,
          .lane = lane,
          .shapes_max = 3};
}

Sample make_sample(int events, uint32_t first, uint32_t lane, const Change& change = {}) {
  Sample sample(kShape, options(lane));
  Observer observer(kShape, 1e-4);
  for (int i = 0; i < events; ++i) {
    const uint32_t event = first + static_cast<uint32_t>(i);
    const double energy = 10 + (event * 37) % 90, angle = 1.05 + 0.01 * ((event * 53) % 100);
    sample.add(observer.observe(toy_image(energy, event, change), energy, angle));
  }
  return sample;
}

const Figure& find(const std::vector<Figure>& figures, const std::string& name, const Bin& bin = {}) {
  const auto found = std::find_if(figures.begin(), figures.end(),
                                  [&](const Figure& figure) { return figure.name == name && figure.bin == bin; });
  EXPECT_NE(found, figures.end()) << name;
  return *found;
}

TEST(Sample, WeightsAreReplicasAndHalves) {
  const Sample sample = make_sample(400, 0, 0);
  ASSERT_EQ(sample.replicas(), 1 + kBootstraps + 2 * kHalves);
  double sum = 0, squares = 0;
  for (size_t event = 0; event < 400; ++event) {
    EXPECT_EQ(sample.weight(event, 0), 1);
    for (int i = 0; i < kHalves; ++i)
      EXPECT_EQ(sample.weight(event, sample.half(i, false)) + sample.weight(event, sample.half(i, true)), 1);
    for (int i = 0; i < kBootstraps; ++i) {
      const double weight = sample.weight(event, sample.bootstrap(i));
      sum += weight;
      squares += weight * weight;
    }
  }
  const double n = 400.0 * kBootstraps;
  EXPECT_NEAR(sum / n, 1, 0.05);      // Poisson: mean 1 ...
  EXPECT_NEAR(squares / n, 2, 0.15);  // ... and variance 1
}

TEST(Sample, ProfilesAreMeansOfTheWeightedEvents) {
  const Sample sample = make_sample(60, 0, 0);
  const auto profile = sample.profile(Profile::kDepth, 0);
  double total = 0, mean = 0;
  for (const double value : profile) total += value;
  for (const float value : sample.values(kResponse)) mean += value / 60.0;
  EXPECT_NEAR(total, mean, 1e-6);
  const Bin low{0, -1};
  const auto events = sample.events_in(low);
  double weighted = 0, weights = 0, of_profile = 0;
  for (const uint32_t event : events) {
    weighted += sample.weight(event, 3) * sample.values(kResponse)[event];
    weights += sample.weight(event, 3);
  }
  for (const double value : sample.profile(Profile::kRadial, 3, low)) of_profile += value;
  EXPECT_NEAR(of_profile, weighted / weights, 1e-6);
}

TEST(Sample, BinsPartTheEvents) {
  const Sample sample = make_sample(100, 0, 0);
  EXPECT_EQ(sample.events_in({}).size(), 100U);
  EXPECT_EQ(sample.events_in({0, -1}).size() + sample.events_in({1, -1}).size(), 100U);
  for (const uint32_t event : sample.events_in({1, 0})) {
    EXPECT_GE(sample.energies()[event], 40);
    EXPECT_LT(sample.angles()[event], 1.6F);
  }
  EXPECT_EQ(sample.shapes().size(), 3U * (9 * 12 + 9 * 12));
}

TEST(Compare, TwoSamplesOfOneKindLieAtTheFloor) {
  const auto figures = compare(make_sample(300, 0, 0), make_sample(300, 1000, 1));
  for (const Figure& figure : figures) {
    ASSERT_TRUE(std::isfinite(figure.value)) << figure.name;
    // chi2 is one on average whatever the sizes; everything else shrinks with the sample. Many figures: wide limits.
    EXPECT_LE(figure.value, 3 * figure.floor + 6 * figure.floor_deviation + 1e-9) << figure.name;
  }
  EXPECT_GT(find(figures, "ks.response").uncertainty, 0);
  EXPECT_NEAR(find(figures, "chi2.hits").floor, 1, 0.6);
}

TEST(Compare, AShiftInEnergyIsSeenInTheResponse) {
  const auto figures = compare(make_sample(300, 0, 0), make_sample(300, 1000, 1, {.scale = 1.05}));
  EXPECT_NEAR(find(figures, "response.mean").value, 0.05, 0.01);
  EXPECT_GT(find(figures, "response.mean").value, 4 * find(figures, "response.mean").floor);
  EXPECT_NEAR(find(figures, "response.mean", {1, -1}).value, 0.05, 0.01);
  EXPECT_LT(find(figures, "linearity").value, 0.01);
  EXPECT_LT(find(figures, "ks.depth.mean").value, 3 * find(figures, "ks.depth.mean").floor);
}

TEST(Compare, AShiftInDepthIsSeenInTheProfile) {
  const auto figures = compare(make_sample(200, 0, 0), make_sample(200, 1000, 1, {.shift = 1}));
  EXPECT_GT(find(figures, "profile.z").value, 10 * find(figures, "profile.z").floor);
  EXPECT_GT(find(figures, "wasserstein.depth.mean").value, 3);
  EXPECT_GT(find(figures, "fpd").value, 5 * find(figures, "fpd").floor);
}

TEST(Compare, NamesAllItsFiguresAndNoOthers) {
  std::vector<std::string> names = figure_names(), found;
  for (const Figure& figure : compare(make_sample(20, 0, 0), make_sample(20, 1000, 1), {.in_bins = false}))
    found.push_back(figure.name);
  std::sort(names.begin(), names.end());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(names, found);
}

TEST(ShowerRecord, ASampleOfRecordsIsTheSample) {
  const auto names = [](const Sample& sample) {
    std::vector<double> values;
    const Sample reference = make_sample(40, 0, 0);
    for (const Figure& figure : compare(reference, sample)) values.push_back(figure.value);
    return values;
  };
  Sample copied(kShape, options(1));
  Observer observer(kShape, 1e-4);
  for (uint32_t event = 1000; event < 1040; ++event) {
    const double energy = 10 + (event * 37) % 90, angle = 1.05 + 0.01 * ((event * 53) % 100);
    std::vector<float> row(record_size(kShape));
    to_record(observer.observe(toy_image(energy, event, {}), energy, angle), row);
    copied.add(from_record(row, kShape));
  }
  const auto direct = names(make_sample(40, 1000, 1)), by_record = names(copied);
  ASSERT_EQ(direct.size(), by_record.size());
  for (size_t i = 0; i < direct.size(); ++i) EXPECT_NEAR(direct[i], by_record[i], 1e-5 * (1 + direct[i])) << i;
}

TEST(Collapse, IsSeenInEmptyAlikeAndUniformShowers) {
  const Sample reference = make_sample(200, 0, 0);
  EXPECT_TRUE(signs_of_collapse(reference, make_sample(200, 1000, 1)).empty());
  Sample empty(kShape, options(1)), one(kShape, options(1));
  Observer observer(kShape, 1e-4);
  const std::vector<float> nothing(static_cast<size_t>(kShape.cells()));
  for (int i = 0; i < 60; ++i) {
    const double energy = 10 + i;
    empty.add(observer.observe(nothing, energy, 1.5));
    std::vector<float> image = toy_image(50, 7, {});
    for (float& cell : image) cell *= static_cast<float>(energy / 50);
    one.add(observer.observe(image, energy, 1.5));
  }
  const auto of_empty = signs_of_collapse(reference, empty), of_one = signs_of_collapse(reference, one);
  ASSERT_FALSE(of_empty.empty());
  EXPECT_EQ(of_empty[0], "60 of 60 showers are empty");
  ASSERT_EQ(of_one.size(), 3U);  // alike, and one response in each of two energy bins
  EXPECT_NE(of_one[0].find("structural similarity"), std::string::npos) << of_one[0];
  EXPECT_NE(of_one[1].find("one response"), std::string::npos) << of_one[1];
}

TEST(Compare, NothingToCompare) {
  EXPECT_TRUE(compare(make_sample(10, 0, 0), make_sample(0, 0, 1)).empty());
}

}  // namespace
}  // namespace linac::physics
