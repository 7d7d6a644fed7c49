#include "linac/control/catalog/filter.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

std::string repeated(const std::string& one, const std::string& between, int times) {
  std::string text = one;
  for (int i = 1; i < times; ++i) text += between + one;
  return text;
}

TEST(ParseFilter, SaysWhereAndWhatIsWrong) {
  struct Case {
    std::string text, in_message;
  };
  for (const Case& c : {Case{"metrics.auc >", "position 14"},
                        Case{"metrics.auc > > 1", "number"},
                        Case{"metrics.auc 0.9", "'0.9'"},
                        Case{"params.lr = 'x", "not closed"},
                        Case{"(status = 'A'", "')'"},
                        Case{"status = 'A' status = 'B'", "AND, OR"},
                        Case{"AND", "="},
                        Case{"a.b = 1", "metrics."},
                        Case{"tags. = '1'", "name"},
                        Case{"status IN ()", "quotes"},
                        Case{"status IN 'A'", "'('"},
                        Case{"status NOT LIKE 'A'", "IN after NOT"},
                        Case{"metrics.x = 1; DROP TABLE runs", "';'"},
                        Case{"metrics.x = 1 -- comment", "AND, OR"},
                        Case{"params.x = \"\xFF\"", "UTF-8"},
                        Case{std::string(kFilterBytesMax + 1, ' '), "bytes"},
                        Case{std::string(100, '(') + "status = 'A'" + std::string(100, ')'), "levels"},
                        Case{"metrics.x = 1e999", "number"},
                        Case{"metrics.x = nan", "number"},
                        Case{repeated("tags.a = 'b'", " OR ", kConditionsMax + 1), "100 conditions"},
                        Case{"tags.a IN (" + repeated("'b'", ",", kValuesMax + 1) + ")", "1000 values"}}) {
    try {
      parse_filter(c.text);
      ADD_FAILURE() << c.text << " was taken";
    } catch (const Refusal& e) {
      EXPECT_EQ(e.kind(), RefusalKind::kInvalid);
      EXPECT_NE(std::string(e.what()).find(c.in_message), std::string::npos) << c.text << ": " << e.what();
    }
  }
  EXPECT_EQ(parse_filter(" \n\t"), nullptr);
  EXPECT_NE(parse_filter(repeated("tags.a = 'b'", " OR ", kConditionsMax)), nullptr);
  EXPECT_NE(parse_filter("tags.a IN (" + repeated("'b'", ",", kValuesMax) + ")"), nullptr);
}

TEST(ParseFilter, FieldsAndQuotes) {
  const auto field = [](const std::string& text) { return parse_filter(text + " = '1'")->field; };
  EXPECT_EQ(field("metrics.`val loss`").key, "val loss");
  EXPECT_EQ(field("metric.\"a\"\"b\"").key, "a\"b");
  EXPECT_EQ(field("params.a.b-c/d:e").key, "a.b-c/d:e");
  EXPECT_EQ(field("tag.`mlflow.user`").kind, FieldKind::kTag);
  EXPECT_EQ(field("attributes.`Run name`").key, "Run name");
  EXPECT_EQ(field("run_name").kind, FieldKind::kAttribute);
  EXPECT_EQ(field("datasets.name").kind, FieldKind::kDataSet);
  EXPECT_EQ(std::get<std::string>(parse_filter("params.x = 'it''s'")->values.at(0)), "it's");
  EXPECT_EQ(std::get<int64_t>(parse_filter("metrics.x=-3")->values.at(0)), -3);
  EXPECT_EQ(std::get<double>(parse_filter("metrics.x<-.5e-1")->values.at(0)), -0.05);
  const Order order = parse_order("metrics.`val loss` desc");
  EXPECT_TRUE(order.descending && order.field.key == "val loss");
  EXPECT_FALSE(parse_order("start_time ASC").descending);
  EXPECT_EQ(refusal([] { parse_order("start_time DOWN"); }), RefusalKind::kInvalid);
}

class SearchTest : public RecordsTest {
 protected:
  void SetUp() override {
    RecordsTest::SetUp();
    if (IsSkipped()) return;
    add("alpha", RunState::kSucceeded, {{"auc", 0.91}, {"loss", 0.3}}, {{"lr", "0.001"}}, {{"site", "T1"}});
    add("beta", RunState::kRunning, {{"auc", 0.85}, {"loss", NAN}}, {{"lr", "0.01"}},
        {{"site", "T2"}, {"owner", "Kim"}});
    add("Gamma_1", RunState::kFailed, {{"auc", INFINITY}}, {}, {{"site", "it's 100%"}});
    add("delta", RunState::kPending, {}, {{"lr", "0.001"}}, {});
  }
  void add(const std::string& name, RunState state, const std::map<std::string, double>& metrics,
           const Tags& parameters, const Tags& tags) {
    NewRun run;
    run.name = name;
    run.state = state;
    run.user = "u-" + name;
    run.started_ms = state == RunState::kPending ? 0 : ++time_;
    run.tags = tags;
    const std::string id = create_run(db(), run).id;
    set_parameters(db(), id, parameters);
    std::vector<KeyedPoint> points;
    for (const auto& [key, value] : metrics) {
      points.push_back({key, {1, 1, -1000}});  // not the last: never compared with
      points.push_back({key, {2, 1, value}});
    }
    append_points(db(), id, points);
    ids_[name] = id;
  }
  /// The first letters of the runs found, in the order asked for.
  std::string found(const std::string& filter, const std::vector<std::string>& order = {"start_time"}) {
    RunSearch search;
    search.filter = filter;
    search.order = order;
    std::string letters;
    for (const auto& run : search_runs(db(), Viewer::of_all(), search).items) letters += run.name[0];
    return letters;
  }
  std::map<std::string, std::string> ids_;
  int64_t time_ = 0;
};
LINAC_BOTH_DATABASES(SearchTest);

TEST_P(SearchTest, EachComparisonOfEachKindOfField) {
  struct Case {
    std::string filter, letters;
  };
  for (const Case& c :
       std::vector<Case>{{"", "abGd"},
                         {"metrics.auc > 0.9", "aG"},
                         {"metrics.auc >= 0.91", "aG"},
                         {"metric.auc < 1", "ab"},
                         {"metrics.auc <= 0.85", "b"},
                         {"metrics.auc = 0.85", "b"},
                         {"metrics.auc != 0.85", "aG"},
                         {"metrics.auc IN (0.85, 0.91)", "ab"},
                         {"metrics.loss IS NULL", "Gd"},
                         {"metrics.loss IS NOT NULL", "ab"},
                         {"metrics.loss > -100", "a"},
                         {"NOT metrics.loss > -100", "bGd"},
                         {"metrics.auc > -2000", "abG"},
                         {"params.lr = '0.001'", "ad"},
                         {"parameters.lr != '0.001'", "b"},
                         {"params.lr LIKE '0.0%'", "abd"},
                         {"params.lr NOT IN ('0.01')", "ad"},
                         {"tags.site = 'it''s 100%'", "G"},
                         {"tags.site = \"it's 100%\"", "G"},
                         {"tags.site LIKE '%100\\%'", ""},  // a backslash is a letter
                         {"tags.owner ILIKE 'k_M'", "b"},
                         {"tags.owner LIKE 'k_m'", ""},
                         {"tags.`owner` IS NULL", "aGd"},
                         {"attributes.run_name = 'alpha'", "a"},
                         {"`Run name` LIKE '%a'", "abd"},
                         {"run_name ILIKE 'GAMMA__'", "G"},
                         {"status = 'FINISHED'", "a"},
                         {"status IN ('RUNNING', 'SCHEDULED')", "bd"},
                         {"attributes.status != 'FINISHED'", "bGd"},
                         {"state = 'PENDING'", "d"},
                         {"user_id = 'u-beta'", "b"},
                         {"start_time > 1", "bG"},
                         {"start_time IS NULL", "d"},
                         {"end_time IS NOT NULL AND created > 0", "aG"},
                         {"experiment_id = '0'", "abGd"},
                         {"artifact_uri LIKE 'mlflow-artifacts:/0/%/artifacts'", "abGd"},
                         {"metrics.auc > 0.9 AND params.lr = '0.001'", "a"},
                         {"params.lr = '0.01' OR metrics.auc > 0.9", "abG"},
                         {"params.lr = '0.01' OR params.lr = '0.001' AND status = 'FINISHED'", "ab"},
                         {"(params.lr = '0.01' OR params.lr = '0.001') AND NOT (status = 'FINISHED')", "bd"},
                         {"NOT NOT run_name = 'beta'", "b"}})
    EXPECT_EQ(found(c.filter), c.letters) << c.filter;
  EXPECT_EQ(found(fmt::format("run_id IN ('{}', '{}')", ids_["beta"], ids_["delta"])), "bd");
}

TEST_P(SearchTest, Orders) {
  EXPECT_EQ(found("", {"metrics.auc DESC"}), "Gabd");
  EXPECT_EQ(found("", {"metrics.auc ASC"}), "baGd");
  // A number, NaN, then those without it: the newest first, and what has not started is newest.
  EXPECT_EQ(found("", {"metrics.loss DESC"}), "abdG");
  EXPECT_EQ(found("", {"metrics.loss"}), "abdG");
  EXPECT_EQ(found("", {"params.lr", "run_name DESC"}), "dabG");
  EXPECT_EQ(found("", {"tags.site DESC"}), "Gbad");
  EXPECT_EQ(found("", {"attributes.`Run Name`"}), "Gabd");
  EXPECT_EQ(found("", {}), "dGba");
}

TEST_P(SearchTest, NothingThatAUserWritesIsSql) {
  for (const std::string evil :
       {"'; DROP TABLE runs; --", "') OR 1=1 --", "$1", "{0}", "x' UNION SELECT name FROM users --", "\\", "\"", "`"}) {
    std::string quoted, backquoted;
    for (const char c : evil) quoted += c == '\'' ? std::string("''") : std::string(1, c);
    for (const char c : evil) backquoted += c == '`' ? std::string("``") : std::string(1, c);
    for (const std::string kind : {"params", "tags", "metrics"}) {
      const std::string value = kind == "metrics" ? "1" : "'" + quoted + "'";
      EXPECT_EQ(found(fmt::format("{}.`{}` = {}", kind, backquoted, value)), "") << evil;
      EXPECT_EQ(found("", {fmt::format("{}.`{}` DESC", kind, backquoted)}).size(), 4u) << evil;
    }
    EXPECT_EQ(found(fmt::format("run_name LIKE '{}' OR run_id IN ('{}')", quoted, quoted)), "") << evil;
    EXPECT_EQ(refusal([&] { found(fmt::format("attributes.`{}` = 'x'", backquoted)); }), RefusalKind::kInvalid);
  }
  EXPECT_EQ(found(""), "abGd");
}

TEST_P(SearchTest, WrongFieldsAndTypesAreRefused) {
  for (const std::string filter : {"nonsense = 'x'", "metrics.auc = 'x'", "metrics.auc LIKE 'x'", "params.lr > '0.1'",
                                   "params.lr = 0.1", "start_time = 'x'", "status > 'A'", "datasets.size = 'x'"})
    EXPECT_EQ(refusal([&] { found(filter); }), RefusalKind::kInvalid) << filter;
  EXPECT_EQ(refusal([&] { found("", {"nonsense"}); }), RefusalKind::kInvalid);
  EXPECT_EQ(refusal([&] { found("", std::vector<std::string>(17, "run_id")); }), RefusalKind::kInvalid);
  EXPECT_EQ(refusal([&] { search_experiments(db(), Viewer::of_all(), "metrics.x = 1", {}, View::kAll, 10, ""); }),
            RefusalKind::kInvalid);
}

TEST_P(SearchTest, PagesCoverTwoThousandRunsOnce) {
  for (int i = 0; i < 2000; ++i) add(fmt::format("p{}", i), RunState::kSucceeded, {{"x", i % 7}}, {{"k", "v"}}, {});
  RunSearch search;
  search.filter = "params.k = 'v'";
  search.order = {"metrics.x DESC"};
  search.limit = 300;
  std::map<std::string, int> seen;
  double before = 100;
  for (int page = 0; page < 7; ++page) {
    const auto found = search_runs(db(), Viewer::of_all(), search);
    EXPECT_EQ(found.items.size(), page < 6 ? 300u : 200u);
    EXPECT_EQ(found.next.empty(), page == 6);
    for (const auto& run : found.items) {
      ++seen[run.id];
      EXPECT_LE(run.metrics.at(0).last.value, before);
      before = run.metrics.at(0).last.value;
      EXPECT_EQ(run.parameters.at("k"), "v");
    }
    search.token = found.next;
  }
  EXPECT_EQ(seen.size(), 2000u);
  search.token = "300.00000000";
  EXPECT_EQ(refusal([&] { search_runs(db(), Viewer::of_all(), search); }), RefusalKind::kInvalid);
  search.token = "";
  for (const int64_t limit : {int64_t{0}, int64_t{-1}, kSearchMax + 1}) {
    search.limit = limit;
    EXPECT_EQ(refusal([&] { search_runs(db(), Viewer::of_all(), search); }), RefusalKind::kInvalid);
  }
}

}  // namespace
}  // namespace linac::catalog
