#include "linac/physics/report/plan/names.h"

#include <gtest/gtest.h>

namespace linac::report {
namespace {

constexpr plot::Rect kArea{0, 0, 400, 200};

NamedPoint point(double x, double y, bool front = false) {
  return {.at = {x, y}, .name = "name", .width = 100, .front = front};
}

std::vector<std::optional<plot::Rect>> places(const std::vector<NamedPoint>& points,
                                              const std::vector<Segment>& lines = {}) {
  return places_of_names(kArea, points, lines);
}

bool over(const plot::Rect& a, const plot::Rect& b) {
  return a.x < b.right() && b.x < a.right() && a.y < b.bottom() && b.y < a.bottom();
}

TEST(Names, StandBesideTheirPointWithinTheArea) {
  const auto middle = places({point(200, 100)})[0], right = places({point(390, 100)})[0],
             top = places({point(200, 2)})[0];
  EXPECT_GT(middle->x, 200);
  EXPECT_LT(middle->bottom(), 100);
  EXPECT_LT(right->right(), 390);
  EXPECT_GT(top->y, 2);
}

TEST(Names, NoneStandsUponAnother) {
  std::vector<NamedPoint> points;
  for (int i = 0; i < 20; ++i) points.push_back(point(150 + 5 * (i % 4), 100 + 7 * (i / 4)));
  points.back().front = true;
  const auto found = places(points);
  EXPECT_TRUE(found.back()) << "the front goes first";
  size_t named = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    named += found[i].has_value();
    for (size_t j = 0; j < i; ++j) EXPECT_FALSE(found[i] && found[j] && over(*found[i], *found[j])) << i << " " << j;
  }
  EXPECT_GT(named, 1u);
  EXPECT_LT(named, found.size()) << "some have no room";
}

TEST(Names, LinesAreAvoidedWhereThatCanBe) {
  const Segment upright{{220, 0}, {220, 200}}, above{{0, 90}, {400, 90}}, below{{0, 110}, {400, 110}};
  EXPECT_LT(places({point(200, 100)}, {upright})[0]->right(), 200);
  const auto place = places({point(200, 100)}, {upright, above})[0];
  EXPECT_LT(place->right(), 200);
  EXPECT_GT(place->y, 100);
  EXPECT_TRUE(places({point(200, 100)}, {upright, above, below})[0]) << "else upon one";
}

TEST(Names, OnePlaceHasOne) {
  const auto found = places({point(200, 100), point(201, 101, true)});
  EXPECT_FALSE(found[0]);
  EXPECT_TRUE(found[1]);
}

TEST(Names, OfManyPointsTheFrontAlone) {
  std::vector<NamedPoint> points(5000, point(10, 10));
  points[4000] = point(300, 100, true);
  const auto found = places(points);
  EXPECT_FALSE(found[0]);
  EXPECT_TRUE(found[4000]);
}

}  // namespace
}  // namespace linac::report
