#include "linac/physics/report/columns/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace linac::report {
namespace {

using columns::ColumnGatherer;
using columns::ColumnStats;
using columns::Duplicates;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

ColumnStats column(const std::string& name, const std::vector<float>& values) {
  const std::vector<uint32_t> ones(values.size(), 1);
  ColumnGatherer gatherer(name, "float", false, 0);
  gatherer.add({values, ones, ones});
  return gatherer.finish();
}

/// 200 training events with a class that only one has, a column with NaN and one that never changes; two test events,
/// of which one is a training event.
ColumnsReport made(bool with_test) {
  std::vector<float> x(200), y(200, 0), same(200, 7);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) / 3;
  x[5] = std::numeric_limits<float>::quiet_NaN();
  y[17] = 1;
  ColumnsReport report;
  report.title = "<events>";
  report.targets = {"y"};
  report.stats.train = {{"a.parquet", "b.parquet"}, {150, 50}, 200, 4000, {column("<x>", x), column("y", y)}};
  report.stats.train.columns.push_back(column("same", same));
  report.stats.left_out = {{"day", "is a date"}};
  report.facts = {{"made", "today"}};
  if (!with_test) return report;
  report.stats.test = {{"c.parquet"}, {2}, 2, 40, {column("<x>", {1, 2}), column("y", {0, 2}), column("same", {7, 8})}};
  report.stats.duplicates = {.looked_at = 1,
                             .train = 3,
                             .test = 0,
                             .leaked = 1,
                             .pairs = {{Duplicates::Side::kTrain, Duplicates::Side::kTest, 160, 1}}};
  return report;
}

bool has(const std::vector<std::string>& findings, const std::string& part) {
  return std::ranges::any_of(findings, [&](const std::string& finding) { return contains(finding, part); });
}

TEST(ColumnsReport, FindsWhatIsWrong) {
  const std::vector<std::string> findings = findings_of(made(true));
  EXPECT_TRUE(contains(findings.at(0), "1 of 2 (50 %) test events are training events")) << findings[0];
  EXPECT_TRUE(contains(findings[0], "training event 10 of b.parquet and test event 1")) << findings[0];
  EXPECT_TRUE(has(findings, "3 of 200 (1.5 %) training events are copies"));
  EXPECT_TRUE(has(findings, "training: '<x>' has 1 NaN"));
  EXPECT_TRUE(has(findings, "training: 'same' is the same in every event"));
  EXPECT_FALSE(has(findings, "test: 'same'"));
  EXPECT_TRUE(has(findings, "training: class 1 of 'y' has 1 of 200 events"));
  EXPECT_TRUE(has(findings, "test: class 2 of 'y' is in no training event"));
  ColumnsReport sound;
  sound.stats.train = {{"a"}, {3}, 3, 10, {column("x", {1, 2, 3})}};
  EXPECT_TRUE(findings_of(sound).empty());
}

TEST(ColumnsReport, IsAPageThatEscapes) {
  for (const bool with_test : {false, true}) {
    const ColumnsReport report = made(with_test);
    const auto pictures = draw(report);
    ASSERT_EQ(pictures.size(), 1U);
    const std::string page = to_html(report, pictures);
    EXPECT_TRUE(contains(page, "&lt;x&gt;") && !contains(page, "<x>") && contains(page, "&lt;events&gt;"));
    EXPECT_EQ(contains(page, "Test events are training events"), with_test);
    EXPECT_TRUE(contains(page, "Classes of the targets") && contains(page, "is a date"));
  }
}

TEST(ColumnsReport, AsJson) {
  const auto json = to_json(made(true));
  EXPECT_EQ(json.at("duplicates").at("leaked"), 1);
  EXPECT_EQ(json.at("duplicates").at("pairs").at(0).at(0).at("file"), "b.parquet");
  const auto& x = json.at("columns").at(0);
  EXPECT_EQ(x.at("train").at("nan"), 1);
  EXPECT_EQ(x.at("bin_edges").size(), x.at("train").at("bin_shares").size() + 1);
  EXPECT_EQ(x.at("train").at("bin_shares").size(), x.at("test").at("bin_shares").size());
  EXPECT_TRUE(json.at("columns").at(1).at("target"));
  EXPECT_TRUE(to_json(made(false)).at("test").is_null());
  EXPECT_NO_THROW(nlohmann::json::parse(json.dump()));
}

TEST(ColumnsReport, AsText) {
  const std::string text = to_text(made(true));
  EXPECT_TRUE(contains(text, "200 events in 2 files; test: 2 events in 1 file")) << text;
  EXPECT_TRUE(contains(text, "classes of y: 0 199 (100 %), 1 1 (0.5 %)")) << text;
  EXPECT_TRUE(contains(text, "left out: day: is a date"));
}

TEST(ColumnsReport, OfManyColumnsAndOfNone) {
  ColumnsReport report;
  report.stats.train = {{"a"}, {3}, 3, 10, {}};
  EXPECT_TRUE(draw(report).empty());
  EXPECT_FALSE(to_html(report, {}).empty());
  for (int i = 0; i < 30; ++i) report.stats.train.columns.push_back(column("c" + std::to_string(i), {1, 2, 3}));
  EXPECT_EQ(draw(report).size(), 3U);
}

}  // namespace
}  // namespace linac::report
