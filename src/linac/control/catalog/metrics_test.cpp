#include "linac/control/catalog/metrics.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include "linac/control/catalog/connection.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class MetricsTest : public RecordsTest {
 protected:
  std::string new_run() { return create_run(db(), NewRun()).id; }
  void append(const std::string& run, const std::vector<Point>& points, const std::string& key = "loss") {
    std::vector<KeyedPoint> keyed;
    for (const Point& p : points) keyed.push_back({key, p});
    append_points(db(), run, keyed);
  }
  int64_t blocks() { return db().query("SELECT COUNT(*) FROM blocks").front().integer(0); }
};
LINAC_BOTH_DATABASES(MetricsTest);

Point at(int64_t i) {
  return {i, 1000 + i, 0.5 * static_cast<double>(i)};
}

TEST_P(MetricsTest, SinglePointsAreMergedAndNoneIsLost) {
  const std::string run = new_run();
  connection(db()).memory = std::make_unique<WriterMemory>();
  constexpr int64_t kPoints = 5000;  // two blocks of the largest size, and what is beside them
  int64_t most = 0;
  for (int64_t i = 0; i < kPoints; ++i) {
    append(run, {at(i)});
    if (i % 100 == 0) most = std::max(most, blocks());
    if (i == 63 || i == 64 || i == 2047 || i == 2048 || i == 4500) {
      const auto points = curve(db(), run, "loss");
      ASSERT_EQ(points.size(), static_cast<size_t>(i) + 1);
      for (size_t k = 0; k < points.size(); ++k) ASSERT_EQ(points[k], at(static_cast<int64_t>(k)));
    }
  }
  EXPECT_LE(most, 64 + 32 + kPoints / 2048 + 1);
  const auto summary = catalog::run(db(), run).metrics.at(0);
  EXPECT_EQ(summary.count, kPoints);
  EXPECT_EQ(summary.last, at(kPoints - 1));
  EXPECT_EQ(summary.min, 0);
  EXPECT_EQ(summary.max, 0.5 * (kPoints - 1));
  const auto middle = curve(db(), run, "loss", 3456, 7);
  ASSERT_EQ(middle.size(), 7u);
  EXPECT_EQ(middle.front(), at(3456));
  EXPECT_EQ(curve(db(), run, "loss", kPoints).size(), 0u);
  EXPECT_EQ(curve(db(), run, "loss", kPoints - 2, 10).size(), 2u);
}

TEST_P(MetricsTest, WhatIsSentTwiceCountsOnceWhereThatIsWanted) {
  const std::string run = new_run();
  const auto log = [&](const std::vector<Point>& points) {
    std::vector<KeyedPoint> keyed;
    for (const Point& p : points) keyed.push_back({"loss", p});
    append_points(db(), run, keyed, Repeated::kOnce);
  };
  log({at(1), at(1), at(2)});
  log({at(2)});
  log({at(2), {2, at(2).time_ms + 1, at(2).value}, {3, 5000, NAN}});
  log({{3, 5000, NAN}, {3, 5000, 1}});
  EXPECT_EQ(curve(db(), run, "loss").size(), 5u);
  append(run, {{3, 5000, 1}});
  EXPECT_EQ(curve(db(), run, "loss").size(), 6u);
  log({at(1), at(2), {3, 5000, NAN}});  // a batch comes again, behind a later one
  log({{3, 5000, 2}, at(1), {4, 6000, 1}, {4, 6000, 1}});
  EXPECT_EQ(curve(db(), run, "loss").size(), 8u);
}

/// Blocks of any size in any order, against a sort in memory.
TEST_P(MetricsTest, ACurveIsSortedByStepTimeAndArrival) {
  std::mt19937 random(7);
  for (const int64_t disorder : {int64_t{0}, int64_t{50}, int64_t{100000}}) {
    const std::string run = new_run();
    std::vector<Point> all;
    for (int64_t batch = 0; batch < 300; ++batch) {
      std::vector<Point> points(random() % 90 + 1);
      for (Point& p : points) {
        const auto n = static_cast<int64_t>(all.size());
        p = {disorder == 0 ? n / 3 : (n + static_cast<int64_t>(random() % static_cast<uint32_t>(disorder))) / 3,
             disorder == 0 ? n : static_cast<int64_t>(random() % 5), static_cast<double>(n)};
        all.push_back(p);
      }
      append(run, points);
    }
    std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) {
      return std::tie(a.step, a.time_ms) < std::tie(b.step, b.time_ms);
    });
    const auto points = curve(db(), run, "loss");
    ASSERT_EQ(points.size(), all.size());
    for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(points[i], all[i]) << disorder << " " << i;
    EXPECT_EQ(catalog::run(db(), run).metrics.at(0).last, all.back());
    const auto page = curve(db(), run, "loss", 5000, 100);
    ASSERT_EQ(page.size(), 100u);
    for (size_t i = 0; i < 100; ++i) ASSERT_EQ(page[i], all[5000 + i]);
  }
}

TEST_P(MetricsTest, NanAndInfinityAreKept) {
  const std::string run = new_run();
  const double payload = std::nan("0x123");
  append(run, {{1, 1, 2.0}, {2, 2, INFINITY}, {3, 3, -INFINITY}, {4, 4, payload}});
  const auto points = curve(db(), run, "loss");
  ASSERT_EQ(points.size(), 4u);
  EXPECT_EQ(points[1].value, INFINITY);
  EXPECT_EQ(points[2].value, -INFINITY);
  EXPECT_TRUE(std::isnan(points[3].value));
  auto summary = catalog::run(db(), run).metrics.at(0);
  EXPECT_TRUE(std::isnan(summary.last.value));
  EXPECT_EQ(summary.last.step, 4);
  EXPECT_EQ(summary.min, 2.0);
  EXPECT_EQ(summary.max, 2.0);
  append(run, {{1, 1, NAN}}, "only nan");
  append(run, {{1, 1, INFINITY}}, "only inf");
  for (const auto& metric : catalog::run(db(), run).metrics)
    EXPECT_EQ(std::isnan(metric.min) && std::isnan(metric.max), metric.key != "loss") << metric.key;
}

TEST_P(MetricsTest, ABatchIsAppliedOnceAndInOrder) {
  const std::string run = new_run();
  const std::array points{KeyedPoint{"a", at(1)}, KeyedPoint{"b", at(2)}};
  EXPECT_EQ(acknowledged(db(), run, "w0"), 0);
  EXPECT_EQ(append_batch(db(), run, "w0", 1, points), 1);
  EXPECT_EQ(append_batch(db(), run, "w0", 1, points), 1);
  EXPECT_EQ(refusal([&] { append_batch(db(), run, "w0", 3, points); }), RefusalKind::kState);
  EXPECT_EQ(refusal([&] { append_batch(db(), run, "w0", 0, points); }), RefusalKind::kInvalid);
  EXPECT_EQ(append_batch(db(), run, "w0", 2, points), 2);
  EXPECT_EQ(append_batch(db(), run, "w1", 1, points), 1);
  EXPECT_EQ(append_batch(db(), run, "w0", 1, points), 2);
  EXPECT_EQ(curve(db(), run, "a").size(), 3u);
  EXPECT_EQ(acknowledged(db(), run, "w0"), 2);
}

TEST_P(MetricsTest, ManyNewCurvesAtOnceAreEachItsOwn) {
  const std::string run = new_run();
  connection(db()).memory = std::make_unique<WriterMemory>();
  append(run, {at(1)}, "known");
  for (const int round : {1, 2}) {
    std::vector<KeyedPoint> points;
    for (int i = 0; i < 141 * round; ++i)  // of each size of a statement at least one
      for (int64_t step : {10 * round, 10 * round + 1}) points.push_back({fmt::format("m{}", i), at(step + i)});
    append_points(db(), run, points);
    connection(db()).memory->forget_all();  // the next ones are looked for in the table
  }
  EXPECT_EQ(db().query("SELECT COUNT(*) FROM series").front().integer(0), 1 + 282);
  EXPECT_EQ(curve(db(), run, "m7").size(), 4u);
  EXPECT_EQ(curve(db(), run, "m7").front(), at(17));
  EXPECT_EQ(curve(db(), run, "m281").size(), 2u);
  EXPECT_EQ(curve(db(), run, "m281").front(), at(20 + 281));
  EXPECT_EQ(curve(db(), run, "known").size(), 1u);
}

TEST_P(MetricsTest, WhatCannotBeAppendedIsRefused) {
  const std::string run = new_run();
  const auto key = [&](const std::string& name) { return refusal([&] { append(run, {at(1)}, name); }); };
  EXPECT_EQ(key(""), RefusalKind::kInvalid);
  EXPECT_EQ(key(std::string(kKeyMax + 1, 'x')), RefusalKind::kInvalid);
  EXPECT_EQ(key(std::string(kKeyMax, 'x')), std::nullopt);
  EXPECT_EQ(refusal([&] { append("no such run", {at(1)}); }), RefusalKind::kNotFound);
  connection(db()).memory = std::make_unique<WriterMemory>();
  append(run, {at(1)});
  set_run_deleted(db(), run, true);
  EXPECT_EQ(refusal([&] { append(run, {at(1)}); }), RefusalKind::kState);
  set_run_deleted(db(), run, false);
  append(run, {at(2)});
  EXPECT_EQ(curve(db(), run, "loss").size(), 2u);
}

TEST(Points, DamagedBytesAreSaid) {
  const std::array points{Point{1, 2, 3}, Point{-1, -2, -NAN}};
  Bytes bytes = packed(points);
  EXPECT_EQ(unpacked(bytes).at(0), points[0]);
  EXPECT_TRUE(std::signbit(unpacked(bytes).at(1).value));
  bytes.pop_back();
  EXPECT_THROW(unpacked(bytes), Error);
}

}  // namespace
}  // namespace linac::catalog
