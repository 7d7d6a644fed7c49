#include "linac/control/catalog/curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class CurvesTest : public RecordsTest {
 protected:
  std::string new_run() { return create_run(db(), NewRun()).id; }
  void append(const std::string& run, const std::vector<Point>& points) {
    std::vector<KeyedPoint> keyed;
    for (const Point& p : points) keyed.push_back({"loss", p});
    append_points(db(), run, keyed);
  }
};
LINAC_BOTH_DATABASES(CurvesTest);

TEST_P(CurvesTest, AMillionPointsAreThinned) {
  const std::string run = new_run();
  constexpr int64_t kPoints = 1000000;
  for (int64_t first = 0; first < kPoints; first += 5000) {
    std::vector<Point> points;
    for (int64_t i = first; i < first + 5000; ++i) {
      points.push_back({i * 2, i, std::sin(static_cast<double>(i))});
      if (i == 123456) points.back().value = 77;
      if (i == 654321) points.back().value = NAN;
    }
    append(run, points);
  }
  const auto thin = thinned(db(), run, "loss", 1000);
  EXPECT_LE(thin.size(), 1000u);
  EXPECT_GE(thin.size(), 990u);
  int64_t count = 0, not_finite = 0, before = -1;
  double max = 0;
  for (const Stretch& s : thin) {
    EXPECT_GT(s.first_step, before);
    EXPECT_GE(s.last_step, s.first_step);
    before = s.last_step;
    count += s.count;
    not_finite += s.not_finite;
    max = std::max(max, s.max);
    EXPECT_LE(s.min, s.last);
    EXPECT_GE(s.max, s.last);
  }
  EXPECT_EQ(count, kPoints);
  EXPECT_EQ(not_finite, 1);
  EXPECT_EQ(max, 77);
  const auto part = thinned(db(), run, "loss", 10, 1000, 1999);
  count = 0;
  for (const Stretch& s : part) count += s.count;
  EXPECT_EQ(part.size(), 10u);
  EXPECT_EQ(count, 500);
  EXPECT_EQ(part.front().first_step, 1000);
  EXPECT_EQ(part.back().last_step, 1998);
}

TEST_P(CurvesTest, AShortCurveComesPointByPoint) {
  const std::string run = new_run();
  append(run, {{INT64_MIN, 1, 1.0}, {0, 2, NAN}, {INT64_MAX, 3, 3.0}});
  const auto whole = thinned(db(), run, "loss", 3);
  ASSERT_EQ(whole.size(), 3u);
  EXPECT_EQ(whole[0].min, 1.0);
  EXPECT_TRUE(std::isnan(whole[1].last));
  EXPECT_EQ(whole[1].not_finite, 1);
  EXPECT_EQ(whole[2].last_step, INT64_MAX);
  const auto two = thinned(db(), run, "loss", 2);
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0].count + two[1].count, 3);
  EXPECT_TRUE(thinned(db(), run, "none", 2).empty());
  EXPECT_TRUE(curve(db(), run, "none").empty());
  EXPECT_EQ(refusal([&] { thinned(db(), run, "loss", 0); }), RefusalKind::kInvalid);
  EXPECT_EQ(refusal([&] { thinned(db(), "no such run", "loss", 2); }), RefusalKind::kNotFound);
}

}  // namespace
}  // namespace linac::catalog
