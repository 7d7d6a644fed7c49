#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "linac/base/base/test_errors.h"
#include "linac/control/study/panda/steering.h"

namespace linac::study {
namespace {

using nlohmann::json;

const json kSpace = json::parse(
    R"({"lr": {"method": "loguniform", "dimension": {"low": 1e-5, "high": 1e-2}},
        "n": {"method": "uniformint", "dimension": {"low": 10, "high": 30}},
        "act": {"method": "categorical", "dimension": {"categories": ["relu", 3, null], "grid_search": 0}}})");

TEST(Steering, PointsComeUntilTheSearchIsOver) {
  json input{{"points", json::array()}, {"opt_space", kSpace}};
  std::set<std::string> seen;
  for (int round = 0; round < 20; ++round) {
    const json next = steer({.points_max = 33, .points = 4, .sampler = {}, .seed = 1, .segments = {}}, input, nullptr);
    EXPECT_EQ(next, steer({.points_max = 33, .points = 4, .sampler = {}, .seed = 1, .segments = {}}, input, nullptr));
    if (next.empty()) break;
    for (const json& point : next) {
      EXPECT_TRUE(point["n"].is_number_integer() && point["n"] >= 10 && point["n"] <= 30);
      EXPECT_TRUE(point["act"] == "relu" || point["act"] == 3 || point["act"].is_null());
      EXPECT_TRUE(seen.insert(point.dump()).second) << "no point comes twice";
      input["points"].push_back({point, round % 3 == 0 ? json() : json(round == 1 ? 0.0 : 0.1 * round)});
    }
  }
  EXPECT_EQ(seen.size(), 33U);
}

// A loss of 0 is the best there is here: TPE looks near it.
TEST(Steering, NoLossIsTakenForNone) {
  json with{{"points", json::array()},
            {"opt_space", json::parse(R"({"x": {"method": "uniform", "dimension": {"low": 0, "high": 1}}})")}};
  for (int i = 0; i < 20; ++i) with["points"].push_back({{{"x", 0.05 * i}}, i == 4 ? 0.0 : 1.0 + i});
  json without = with;
  without["points"][4][1] = nullptr;
  const Steering wanted{.points_max = 100, .points = 5, .sampler = {}, .seed = 1, .segments = {}};
  EXPECT_NE(steer(wanted, with, nullptr), steer(wanted, without, nullptr));
}

TEST(Steering, SegmentsTakeTurns) {
  json input{{"points", json::array()}, {"opt_space", nullptr}};
  const Steering wanted{.points_max = 10, .points = 4, .sampler = {}, .seed = 1, .segments = {"a", "b"}};
  const json first = steer(wanted, input, kSpace);
  ASSERT_EQ(first.size(), 4U);
  std::multiset<std::string> models;
  for (const json& point : first) models.insert(point.at(0).get<std::string>());
  EXPECT_EQ(models, (std::multiset<std::string>{"a", "a", "b", "b"}));
  for (const json& point : first) input["points"].push_back(json::array({point, 0.5}));
  EXPECT_EQ(steer({.points_max = 5, .points = 4, .sampler = {}, .seed = 1, .segments = {}}, input, kSpace).size(), 1U);
}

// As phpo writes it: numbers for the models, and a space of each.
TEST(Steering, SegmentsHaveSpacesOfTheirOwn) {
  const auto space = [](double high) {
    return json{{"x", {{"method", "uniform"}, {"dimension", {{"low", high - 1}, {"high", high}}}}}};
  };
  json input{
      {"points", json::array()},
      {"opt_space", {{{"model_id", 0}, {"search_space", space(1)}}, {{"model_id", 1}, {"search_space", space(11)}}}}};
  const Steering wanted{.points_max = 8, .points = 4, .sampler = {}, .seed = 1, .segments = {}};
  for (int round = 0; round < 2; ++round) {
    const json next = steer(wanted, input, nullptr);
    ASSERT_EQ(next.size(), 4U);
    std::multiset<int> models;
    for (const json& point : next) {
      ASSERT_TRUE(point.at(0).is_number_integer()) << point.dump();
      const double x = point.at(1).at("x");
      EXPECT_TRUE(point.at(0) == 0 ? x <= 1 : x >= 10) << point.dump();
      models.insert(point.at(0).get<int>());
      input["points"].push_back(json::array({point, 0.5}));
    }
    EXPECT_EQ(models, (std::multiset<int>{0, 0, 1, 1}));
  }
  EXPECT_TRUE(steer(wanted, input, nullptr).empty());
  input["points"][0][0][0] = 7;
  expect_in(message_of([&] { steer(wanted, input, nullptr); }), {"opt_space", "no model 7"});
  input["opt_space"] = json::array({{{"search_space", space(1)}}});
  expect_in(message_of([&] { steer(wanted, input, nullptr); }), {"opt_space", "model_id"});
}

TEST(Steering, WhatIsWrongIsNamedByItsField) {
  const auto said = [](const std::string& input) {
    return message_of([&] {
      steer({.points_max = 9, .points = 1, .sampler = {}, .seed = 1, .segments = {}}, json::parse(input), nullptr);
    });
  };
  expect_in(said("[]"), {"no list of points"});
  expect_in(message_of([] {
              steer({.points_max = 9, .points = 1, .sampler = {.name = "eipu"}, .seed = 1, .segments = {}},
                    json::parse(R"({"points": []})"), nullptr);
            }),
            {"eipu", "cost"});
  expect_in(said(R"({"points": []})"), {"opt_space"});
  expect_in(said(R"({"points": [1], "opt_space": {"x": {"method": "uniform", "dimension": {"low": 0, "high": 1}}}})"),
            {"points", "no pair"});
  expect_in(said(R"({"points": [], "opt_space": {"x": {"method": "normal", "dimension": {}}}})"),
            {"opt_space.x.method", "'normal'"});
  expect_in(said(R"({"points": [], "opt_space": {"x": {"method": "uniform", "dimension": {"low": "0"}}}})"),
            {"opt_space.x.dimension.low"});
  expect_in(said(R"({"points": [], "opt_space": {"x": {"method": "categorical", "dimension": {}}}})"),
            {"opt_space.x.dimension.categories"});
}

}  // namespace
}  // namespace linac::study
