#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "linac/base/columns/column_stats.h"
#include "linac/base/columns/duplicates.h"
#include "linac/base/columns/histogram.h"
#include "linac/base/columns/sample.h"

namespace linac::columns {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN(), kInfinity = std::numeric_limits<float>::infinity();

struct Blocks {
  std::vector<float> values;
  std::vector<uint32_t> rows, sizes;
  ColumnBlock block(int64_t nulls = 0) const { return {values, rows, sizes, nulls}; }
};

Blocks numbers(std::vector<float> values) {
  const std::vector<uint32_t> ones(values.size(), 1);
  return {std::move(values), ones, ones};
}

ColumnStats stats_of(const std::vector<Blocks>& blocks) {
  ColumnGatherer gatherer("x", "float", false, 0);
  for (const Blocks& one : blocks) gatherer.add(one.block());
  return gatherer.finish();
}

double quantile(const ColumnStats& stats, double share) {
  for (const Quantile& one : stats.quantiles)
    if (one.share == share) return one.value;
  return std::nan("");
}

TEST(ColumnStats, FiguresOfNumbers) {
  const ColumnStats stats = stats_of({numbers({1, 2, 3}), numbers({4, 0, kNan, kInfinity, -kInfinity})});
  EXPECT_EQ(stats.events, 8);
  EXPECT_EQ(stats.values, 8);
  EXPECT_EQ(stats.nans, 1);
  EXPECT_EQ(stats.infinities, 2);
  EXPECT_EQ(stats.zeros, 1);
  EXPECT_EQ(stats.finite(), 5);
  EXPECT_EQ(stats.min, 0);
  EXPECT_EQ(stats.max, 4);
  EXPECT_DOUBLE_EQ(stats.mean, 2);
  EXPECT_DOUBLE_EQ(stats.std, std::sqrt(2));
  EXPECT_EQ(quantile(stats, 0.5), 2);
  EXPECT_TRUE(stats.exact_quantiles && !stats.is_list && !stats.is_constant());
}

TEST(ColumnStats, TheSpreadOfWhatIsFarFromZeroDoesNotCancel) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(1'000'000 + i % 2));
  const ColumnStats stats = stats_of({numbers(values)});
  EXPECT_DOUBLE_EQ(stats.mean, 1'000'000.5);
  EXPECT_DOUBLE_EQ(stats.std, 0.5);
}

TEST(ColumnStats, NothingAtAll) {
  const ColumnStats none = stats_of({}), nans = stats_of({numbers({kNan, kNan})});
  EXPECT_TRUE(std::isnan(none.mean) && std::isnan(none.min) && none.quantiles.empty() && !none.is_constant());
  EXPECT_TRUE(std::isnan(nans.max) && nans.nans == 2 && !nans.is_constant());
  EXPECT_TRUE(histogram_of({&none}).edges.empty());
}

TEST(ColumnStats, NullsAreNoNan) {
  ColumnGatherer gatherer("x", "float", false, 0);
  gatherer.add(numbers({1, kNan, kNan}).block(1));
  const ColumnStats stats = gatherer.finish();
  EXPECT_EQ(stats.nulls, 1);
  EXPECT_EQ(stats.nans, 1);
}

TEST(ColumnStats, LengthsClassesAndPlaces) {
  const ColumnStats lists = stats_of({{.values = {1, 2, 3}, .rows = {2, 0, 1}, .sizes = {2, 0, 1}}});
  EXPECT_TRUE(lists.is_list && lists.places == 0 && lists.classes.empty());
  EXPECT_EQ(lists.length_min, 0);
  EXPECT_EQ(lists.length_max, 2);
  EXPECT_DOUBLE_EQ(lists.length_mean, 1);
  const ColumnStats hot = stats_of({{.values = {1, 0, 0, 0, 1, 0, 1, 0, 0}, .rows = {3, 3, 3}, .sizes = {3, 3, 3}}});
  ASSERT_EQ(hot.classes.size(), 3U);
  EXPECT_EQ(hot.classes[0], (std::pair<std::string, int64_t>("0", 2)));
  EXPECT_EQ(hot.classes[2].second, 0);
  EXPECT_EQ(hot.constant_places, 1);
  EXPECT_EQ(hot.first_constant_places, std::vector<int64_t>{2});
  const ColumnStats classes = stats_of({numbers({2, 0, 2, 1})});
  ASSERT_EQ(classes.classes.size(), 3U);
  EXPECT_EQ(classes.classes[2], (std::pair<std::string, int64_t>("2", 2)));
  std::vector<float> many(100);
  std::iota(many.begin(), many.end(), 0.0F);
  EXPECT_TRUE(stats_of({numbers(many)}).classes.empty());
  EXPECT_TRUE(stats_of({numbers({5, 5, 5})}).is_constant());
  EXPECT_TRUE(stats_of({{.values = {1, 2, 1, 2}, .rows = {2, 2}, .sizes = {2, 2}}}).is_constant());
  EXPECT_FALSE(stats_of({{.values = {1, 1, 1}, .rows = {1, 2}, .sizes = {1, 2}}}).is_constant()) << "its length varies";
}

TEST(ColumnStats, TextsAreClasses) {
  ColumnGatherer gatherer("x", "string", true, 0);
  const std::vector<uint32_t> rows{1, 1, 1};
  gatherer.add({.values = {}, .rows = rows, .sizes = {}});
  gatherer.add_text("top", 2);
  gatherer.add_text("QCD", 1);
  gatherer.add_text("top", 1);
  const ColumnStats stats = gatherer.finish();
  ASSERT_EQ(stats.classes.size(), 2U);
  EXPECT_EQ(stats.classes[1], (std::pair<std::string, int64_t>("top", 3)));
}

TEST(Sample, IsFairAndTheSameEachTime) {
  constexpr int64_t kSeen = 4'000'000;
  const auto sampled = [](size_t block) {
    Sample sample(7);
    std::vector<float> values;
    for (int64_t i = 0; i < kSeen; ++i) {
      values.push_back(static_cast<float>(i % 1'000'003) / 1'000'003);
      if (values.size() == block || i + 1 == kSeen) {
        sample.add(values);
        values.clear();
      }
    }
    return sample;
  };
  Sample sample = sampled(4096), again = sampled(777);
  EXPECT_EQ(sample.seen(), kSeen);
  EXPECT_FALSE(sample.is_whole());
  EXPECT_EQ(sample.sorted().size(), Sample::kValuesMax);
  EXPECT_EQ(sample.sorted(), again.sorted()) << "however the values come";
  const double shares[] = {0.01, 0.25, 0.5, 0.9};
  for (const auto& [share, value] : sample.quantiles(shares))
    EXPECT_NEAR(value, share, 5 * std::sqrt(share * (1 - share)) / 256) << share;
}

TEST(Duplicates, WithinASideAndBetween) {
  Duplicates duplicates;
  for (const uint64_t hash : {10, 11, 10, 12})
    duplicates.add(hash, Duplicates::Side::kTrain, hash == 12 ? 3 : hash - 10);
  for (const uint64_t hash : {13, 12, 12, 14})
    duplicates.add(hash, Duplicates::Side::kTest, static_cast<int64_t>(hash));
  const Duplicates::Found found = duplicates.find();
  EXPECT_EQ(found.train, 1);
  EXPECT_EQ(found.test, 1);
  EXPECT_EQ(found.leaked, 2);
  EXPECT_EQ(found.looked_at, 1);
  ASSERT_EQ(found.pairs.size(), 2U);
  EXPECT_TRUE(found.pairs[0].first == 3 && found.pairs[0].second == 12);
  EXPECT_EQ(found.pairs[0].second_side, Duplicates::Side::kTest);
}

TEST(Duplicates, MoreEventsThanFitAreEstimated) {
  Duplicates duplicates(1000);
  uint64_t hash = 0;
  for (int64_t event = 0; event < 100'000; ++event) {
    hash = hash * 6364136223846793005 + 1442695040888963407;
    const uint64_t mixed = hash ^ hash >> 29;
    duplicates.add(mixed, Duplicates::Side::kTrain, event);
    if (event % 2 == 0) duplicates.add(mixed, Duplicates::Side::kTest, event);
  }
  const Duplicates::Found found = duplicates.find();
  EXPECT_LT(found.looked_at, 0.02);
  EXPECT_NEAR(static_cast<double>(found.leaked), 50'000, 15'000);
  EXPECT_EQ(found.train, 0);
}

// What is not filled is often one large number: beyond 2^52 no double lies between whole numbers.
TEST(Histogram, OfLargeNumbers) {
  const float least = std::numeric_limits<float>::max();
  for (const float sentinel : {1e16F, -1e16F, -1e30F, 1e30F, least, -least, 0x1p53F, -0x1p53F, 0x1p52F, -0x1p52F,
                               0x1p51F, 0x1p24F, -999.0F, 0.0F, -0.0F, std::numeric_limits<float>::denorm_min()}) {
    const ColumnStats stats = stats_of({numbers({sentinel, sentinel, sentinel})});
    const Histogram histogram = histogram_of({&stats});
    ASSERT_GE(histogram.edges.size(), 2U) << sentinel;
    EXPECT_LT(histogram.edges.front(), sentinel);
    EXPECT_GT(histogram.edges.back(), sentinel);
    EXPECT_TRUE(std::ranges::is_sorted(histogram.edges));
    EXPECT_NEAR(std::accumulate(histogram.shares[0].begin(), histogram.shares[0].end(), 0.0), 1, 1e-9) << sentinel;
  }
  const ColumnStats far = stats_of({numbers({-least, least, 0})}),
                    pair = stats_of({numbers({0x1p53F, 0x1.000002p53F})});
  for (const ColumnStats* const stats : {&far, &pair}) {
    const Histogram histogram = histogram_of({stats});
    EXPECT_EQ(histogram.edges.size(), kBins + 1);
    EXPECT_NEAR(std::accumulate(histogram.shares[0].begin(), histogram.shares[0].end(), 0.0), 1, 1e-9);
  }
}

TEST(Histogram, HasBothSidesOnOneAxis) {
  std::vector<float> low, high;
  for (int i = 0; i < 5000; ++i) {
    low.push_back(static_cast<float>(i) / 5000);
    high.push_back(1 + static_cast<float>(i) / 5000);
  }
  const ColumnStats train = stats_of({numbers(low)}), test = stats_of({numbers(high)});
  const Histogram histogram = histogram_of({&train, &test});
  ASSERT_EQ(histogram.edges.size(), kBins + 1);
  EXPECT_NEAR(histogram.edges.front(), 0, 0.01);
  EXPECT_NEAR(histogram.edges.back(), 2, 0.01);
  for (const auto& shares : histogram.shares) EXPECT_NEAR(std::accumulate(shares.begin(), shares.end(), 0.0), 1, 0.01);
  EXPECT_EQ(histogram.shares[0].back(), 0);
  const ColumnStats whole = stats_of({numbers({0, 1, 1, 3})});
  EXPECT_EQ(histogram_of({&whole}).edges, (std::vector<double>{-0.5, 0.5, 1.5, 2.5, 3.5}));
  EXPECT_EQ(histogram_of({&whole}).shares[0], (std::vector<double>{0.25, 0.5, 0, 0.25}));
  const ColumnStats same = stats_of({numbers({7.25, 7.25})});
  EXPECT_LT(histogram_of({&same}).edges.front(), 7.25);
}

}  // namespace
}  // namespace linac::columns
