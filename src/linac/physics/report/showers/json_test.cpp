#include <gtest/gtest.h>

#include <limits>

#include "linac/physics/report/showers/test_report.h"

namespace linac::report {
namespace {

using testing::Case;
using Json = nlohmann::ordered_json;

std::vector<std::string> keys(const Json& object) {
  std::vector<std::string> result;
  for (const auto& [key, value] : object.items()) result.push_back(key);
  return result;
}

using Keys = std::vector<std::string>;

TEST(ToJson, FollowsItsSchema) {
  Case made({.lane = 0}, {.lane = 1, .events = 50, .scale = 2});
  made.report.remarks = {"few showers"};
  made.judge({.limits = {{.figure = "fpd", .max = 1e9}, {.figure = "response.mean", .max = 0.02}}});
  const Json json = to_json(made.report);
  EXPECT_EQ(keys(json), (Keys{"passed", "verdict", "gate", "reference", "sample", "facts", "remarks", "figures"}));
  EXPECT_EQ(json["passed"], false);
  EXPECT_EQ(json["gate"], "gate.yaml");
  EXPECT_EQ(keys(json["reference"]), (Keys{"name", "events", "resolution"}));
  EXPECT_EQ(json["reference"]["name"], "Geant4");
  EXPECT_EQ(json["reference"]["events"], 60);
  EXPECT_TRUE(json["reference"]["resolution"].is_null()) << "of 60 showers in seven slices";
  EXPECT_EQ(json["sample"]["name"], "generated");
  EXPECT_EQ(json["sample"]["events"], 50);
  EXPECT_EQ(json["facts"], (Json{{"file", "showers.h5"}}));
  EXPECT_EQ(json["remarks"], Json::array({"few showers"}));
  ASSERT_EQ(json["figures"].size(), made.report.figures.size());
  int passed = 0, failed = 0;
  for (size_t i = 0; i < made.report.figures.size(); ++i) {
    const Json& figure = json["figures"][i];
    EXPECT_EQ(keys(figure), (Keys{"name", "title", "bin", "value", "uncertainty", "floor", "floor_deviation", "limit",
                                  "passed", "verdict"}));
    EXPECT_EQ(figure["name"], made.report.figures[i].name);
    EXPECT_EQ(figure["value"], made.report.figures[i].value);
    EXPECT_EQ(figure["limit"].is_null(), figure["passed"].is_null());
    passed += figure["passed"] == true ? 1 : 0;
    failed += figure["passed"] == false ? 1 : 0;
  }
  EXPECT_EQ(passed, 1) << "fpd";
  EXPECT_EQ(failed, 1) << "response.mean";
}

TEST(ToJson, HoldsTheTermsOfTheResolution) {
  const Case made({.lane = 0, .events = 400}, {.lane = 1, .events = 400});
  for (const char* name : {"reference", "sample"}) {
    const Json resolution = to_json(made.report)[name]["resolution"];
    ASSERT_FALSE(resolution.is_null());
    EXPECT_EQ(keys(resolution), (Keys{"stochastic", "constant", "noise_gev", "chi2", "degrees_of_freedom"}));
    // The made-up response fluctuates alike at all energies.
    EXPECT_GT(resolution["constant"]["value"], 0) << name;
    EXPECT_GT(resolution["constant"]["error"], 0) << name;
  }
}

TEST(ToJson, BinsNameTheirSides) {
  const Case made({.lane = 0}, {.lane = 1});
  const Json json = to_json(made.report);
  EXPECT_TRUE(json["passed"].is_null());
  EXPECT_TRUE(json["gate"].is_null());
  int overall = 0, by_energy = 0, by_angle = 0;
  for (const Json& figure : json["figures"]) {
    if (figure["name"] != "profile.z") continue;
    const Json& bin = figure["bin"];
    overall += bin.is_null() ? 1 : 0;
    by_energy += bin == Json{{"energy_gev", {10, 40}}} || bin == Json{{"energy_gev", {40, 100}}} ? 1 : 0;
    by_angle += bin == Json{{"angle_rad", {1, 1.5}}} || bin == Json{{"angle_rad", {1.5, 2}}} ? 1 : 0;
  }
  EXPECT_EQ(overall, 1);
  EXPECT_EQ(by_energy, 2);
  EXPECT_EQ(by_angle, 2);
}

TEST(ToJson, WhatIsNoNumberIsNull) {
  Case made({.lane = 0}, {.lane = 1});
  made.report.figures.resize(1);
  made.report.figures[0].value = std::numeric_limits<double>::quiet_NaN();
  made.report.figures[0].floor = std::numeric_limits<double>::infinity();
  const Json json = to_json(made.report);
  EXPECT_TRUE(json["figures"][0]["value"].is_null());
  EXPECT_TRUE(json["figures"][0]["floor"].is_null());
  EXPECT_TRUE(json["figures"][0]["uncertainty"].is_number());
  EXPECT_EQ(Json::parse(json.dump()), json);
}

}  // namespace
}  // namespace linac::report
