#include "linac/control/tune/space.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/test_errors.h"
#include "linac/control/tune/test_studies.h"

namespace linac::tune {
namespace {

TEST(Space, EveryDiscreteValueHasAnEqualShareOfItsEdge) {
  const Space space = testing::mixed();
  for (const size_t i : {0U, 2U, 4U, 5U}) {
    const Parameter& parameter = space[i];
    std::vector<int> counts(static_cast<size_t>(parameter.cells));
    for (int k = 0; k < 4000; ++k) {
      const double value = parameter.value_of((k + 0.5) / 4000);
      EXPECT_GE(value, parameter.low);
      EXPECT_LE(value, parameter.high);
      ++counts[static_cast<size_t>(std::lround((value - parameter.low) / parameter.step))];
    }
    for (const int count : counts)
      EXPECT_NEAR(count, 4000.0 / static_cast<double>(parameter.cells), 1) << parameter.name;
  }
}

TEST(Space, ValuesComeBackFromTheirCoordinates) {
  const Space space = testing::mixed();
  for (size_t i = 0; i < space.size(); ++i) {
    for (int k = 0; k <= 1000; ++k) {
      const double value = space[i].value_of(k / 1000.0);
      const double again = space[i].value_of(space[i].unit_of(value));
      EXPECT_NEAR(again, value, space[i].discrete() ? 0 : 1e-12 * value) << space[i].name;
    }
  }
  EXPECT_EQ(space[1].value_of(0), 1e-5);
  EXPECT_EQ(space[1].value_of(1), 0.1);
  EXPECT_EQ(space[5].value_of(1), 1);
  EXPECT_EQ(space[0].value_of(-3), 0) << "beyond the cube: its end";
}

TEST(Space, ConditionsDecideWhatIsActive) {
  const Space space = testing::mixed();
  const Point dense = space.point_of(std::vector<double>{0.1, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_FALSE(std::isnan(dense[2]));
  EXPECT_TRUE(std::isnan(dense[4]));
  const Point trees = space.point_of(std::vector<double>{0.9, 0.5, 0.5, 0.5, 0.5, 0.5});
  EXPECT_TRUE(std::isnan(trees[3]));
  EXPECT_EQ(trees[4], 8);
  EXPECT_EQ(space.text_of(0, trees[0]), "trees");
}

TEST(Space, ConstraintsAreFormulas) {
  const Space space = testing::mixed({"layers * width <= 512", "rate < 0.05 || share > 0.5"});
  Point point = space.point_of(std::vector<double>{0.1, 0.5, 0.9, 0.9, 0.5, 0.1});
  EXPECT_FALSE(space.allows(point));
  point[2] = 1;
  EXPECT_TRUE(space.allows(point));
  const Point trees = space.point_of(std::vector<double>{0.9, 0.5, 0.9, 0.9, 0.5, 0.1});
  EXPECT_TRUE(space.allows(trees)) << "over inactive parameters";
}

TEST(Space, RefusesWhatCannotBeSearched) {
  const auto refused = [](ParameterSettings settings, const std::vector<std::string>& parts) {
    expect_in(message_of([&] { Space({{.name = "first"}, settings}); }), parts);
  };
  refused({.name = "x", .low = 2, .high = 2}, {"parameters[1] (x)", "the range 2 to 2 is empty"});
  refused({.name = "x", .low = std::nan(""), .high = 2}, {"empty"});
  refused({.name = "x", .low = -1e308, .high = 1e308}, {"too wide"});
  refused({.name = "x", .kind = "log", .low = 0}, {"(x).low", "no logarithm"});
  refused({.name = "x", .kind = "integer", .low = 0.5, .high = 3}, {"are integers"});
  refused({.name = "x", .kind = "integer", .low = 1, .high = 3, .step = 5}, {"(x).step", "wider than the range"});
  refused({.name = "x", .step = -1}, {"(x).step"});
  refused({.name = "x", .step = 1e-300}, {"too many values"});
  refused({.name = "x", .kind = "unifrm"}, {"(x).kind", "did you mean 'uniform'?"});
  refused({.name = "x", .kind = "categorical", .choices = {"a"}}, {"(x).choices", "one only"});
  refused({.name = "x", .kind = "categorical", .choices = {"a", "b", "a"}}, {"'a' is there twice"});
  refused({.name = "first"}, {"(first).name", "is there twice"});
  refused({.name = ""}, {"parameters[1].name"});
  refused({.name = "x", .when = {{"frist", {"1"}}}}, {"(x).when", "no parameter 'frist' before it", "'first'"});
  refused({.name = "x", .when = {{"first", {"1"}}}}, {"(x).when", "'first' is continuous"});
  EXPECT_NE(message_of([] { Space({}); }).find("nothing to search"), std::string::npos);
  expect_in(message_of([] { testing::numbers(1001); }), {"1001 are too many"});
  expect_in(message_of([] { testing::mixed({"layers * witdh < 3"}); }), {"constraints[0]", "did you mean 'width'?"});
  expect_in(message_of([] { testing::mixed({"layers < 3", "layers * width"}); }), {"constraints[1]", "a number"});
  expect_in(message_of([] { testing::mixed({"layers <"}); }), {"constraints[0]"});
}

}  // namespace
}  // namespace linac::tune
