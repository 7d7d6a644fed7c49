#include "linac/physics/report/study/report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "linac/base/base/test_errors.h"

namespace linac::report {
namespace {

using nlohmann::json;

// Two objectives; a rate, a choice with a hostile name, and a parameter that only one choice has.
json study() {
  json trials = json::array();
  for (int i = 1; i <= 24; ++i) {
    const bool pruned = i % 6 == 0, inactive = i % 2 == 0;
    trials.push_back({{"trial", i},
                      {"state", pruned ? "pruned" : "complete"},
                      {"reason", pruned ? "worse than <others>" : ""},
                      {"values", pruned ? json::array() : json{0.1 * i, 10.0 / i}},
                      {"at", {0.001 * i, i % 2, inactive ? json() : json(i)}},
                      {"words", {"0.001", i % 2 == 1 ? "<b>" : "sgd", inactive ? json() : json("3")}},
                      {"curve", {{1, 0.5}, {2, i == 3 ? json() : json(0.1 * i)}}},
                      {"seconds", i == 2 ? json() : json(2.5 * i)}});
  }
  return {{"title", "Study <a>"},
          {"facts", json::array({{"folder", "a & b"}})},
          {"objectives", {{{"name", "loss"}, {"maximize", false}}, {{"name", "auc"}, {"maximize", true}}}},
          {"parameters",
           {{{"name", "rate"}, {"low", 1e-3}, {"high", 0.1}, {"edge", 0}, {"log", true}, {"choices", json::array()}},
            {{"name", "<script>"}, {"low", 0}, {"high", 1}, {"edge", 0}, {"log", false}, {"choices", {"sgd", "<b>"}}},
            {{"name", "layers"}, {"low", 1}, {"high", 24}, {"edge", 0.5}, {"log", false}, {"choices", json::array()}}}},
          {"trials", trials},
          {"front", {1, 23}},
          {"importance", {{0.7, 0.2, 0.1}, {0, 0, 0}}},
          {"map", {{"x", 0}, {"y", 1}, {"cells", 2}, {"values", {0.1, 0.2, 0.3, 0.4}}}}};
}

TEST(StudyPage, HasAllPicturesAndNoHostileText) {
  const StudyRecord record = parse_study_record(study().dump(), "s.json");
  const auto pictures = draw(record);
  std::vector<std::string> names;
  for (const NamedPicture& one : pictures) names.push_back(one.name);
  EXPECT_EQ(names, (std::vector<std::string>{"history", "front", "importance", "map", "parameters", "slice-1",
                                             "slice-2", "slice-3", "curves", "time"}));
  const std::string page = to_html(record, pictures);
  for (const char* const hostile : {"<script>", "<b>sgd", "<others>", "Study <a>", "a & b"})
    EXPECT_EQ(page.find(hostile), std::string::npos) << hostile;
  for (const char* const wanted : {"2 trials on the front of loss and auc", "&lt;script&gt;", "20 complete", "4 pruned",
                                   "All 24 trials", "worse than &lt;others&gt;"})
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted;
  EXPECT_EQ(page.find("http"), std::string::npos) << "it opens offline";
}

TEST(StudyPage, IsThereBeforeAnyTrialIs) {
  json empty = study();
  empty["trials"] = empty["front"] = json::array();
  empty["map"] = nullptr;
  empty["importance"] = {{0, 0, 0}, {0, 0, 0}};
  const StudyRecord record = parse_study_record(empty.dump(), "s.json");
  EXPECT_TRUE(draw(record).empty());
  EXPECT_NE(to_html(record, {}).find("No trial is complete"), std::string::npos);
}

TEST(StudyPage, ADocumentThatIsNoneIsRefused) {
  expect_in(message_of(ErrorCode::kData, [] { parse_study_record("{}", "s.json"); }),
            {"s.json", "no record of a study"});
  expect_in(message_of(ErrorCode::kData, [] { parse_study_record("", "s.json"); }), {"s.json", "no record of a study"});
}

}  // namespace
}  // namespace linac::report
