#include "linac/control/tune/point_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/test_errors.h"

namespace linac::tune {
namespace {

using nlohmann::json;

const Space& space() {
  static const Space space({{.name = "rate", .kind = "log", .low = 1e-4, .high = 0.1},
                            {.name = "share", .low = 0, .high = 1, .step = 0.1},
                            {.name = "units", .kind = "integer", .low = 16, .high = 1024, .log = true},
                            {.name = "how", .kind = "categorical", .choices = {"adam", "sgd"}},
                            {.name = "momentum", .low = 0, .high = 1, .when = {{"how", {"sgd"}}}}},
                           {"`units` * `share` < 900"});
  return space;
}

json with(const std::string& name, const json& value) {
  json point{{"rate", 0.01}, {"share", 0.5}, {"units", 64}, {"how", "adam"}};
  point[name] = value;
  return point;
}

TEST(PointJson, ComesBackBitForBit) {
  for (int i = 0; i < 200; ++i) {
    const double u = (i + 0.37) / 200;
    const Point point = space().point_of(std::vector<double>{u, 1 - u, u * u, u, u});
    if (!space().allows(point)) continue;
    const json words = json::parse(to_json(space(), point).dump());
    const Point back = suggestible_point_from_json(space(), words);
    for (size_t k = 0; k < point.size(); ++k)
      EXPECT_TRUE(back[k] == point[k] || (std::isnan(back[k]) && std::isnan(point[k]))) << words.dump();
  }
}

TEST(PointJson, WhatTheSpaceCouldNotSuggestIsNamed) {
  const auto said = [](const json& values) {
    return message_of([&] { suggestible_point_from_json(space(), values); });
  };
  for (const double end : {1e-4, 0.1}) EXPECT_NO_THROW(suggestible_point_from_json(space(), with("rate", end)));
  EXPECT_NO_THROW(suggestible_point_from_json(space(), with("share", 0.3)));  // 3 steps of 0.1 are 0.30000000000000004
  expect_in(said(with("rate", 0.2)), {"rate", "0.2 is not within 0.0001 to 0.1"});
  expect_in(said(with("rate", -0.01)), {"rate", "not within"});
  expect_in(said(with("share", 0.25)), {"share", "0.25 is on no step"});
  expect_in(said(with("units", 64.5)), {"units", "no step"});
  expect_in(said(with("units", 1e300)), {"units", "not within"});
  expect_in(said(with("units", true)), {"units", "is no number"});
  expect_in(said(with("how", "lion")), {"how", "none of its choices"});
  expect_in(said(with("how", "sgd")), {"momentum", "has no value"});
  expect_in(said(with("momentum", 0.5)), {"momentum", "leave it out"});
  expect_in(said(with("rates", 0.01)), {"no parameter 'rates'"});
  json large = with("units", 1024);
  large["share"] = 1.0;
  expect_in(said(large), {"the constraints keep it out"});
}

}  // namespace
}  // namespace linac::tune
