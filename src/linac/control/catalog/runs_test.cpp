#include "linac/control/catalog/runs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class RunsTest : public RecordsTest {
 protected:
  std::string new_run(const std::string& name = "") {
    NewRun run;
    run.name = name;
    return create_run(db(), run).id;
  }
};
LINAC_BOTH_DATABASES(RunsTest);

TEST_P(RunsTest, AListHasSoManyNamesOfARunAndTheRunAll) {
  const std::string large = new_run(), full = new_run(), small = new_run();
  const auto name = [](int64_t i) { return fmt::format("m{:04}", i); };
  for (const auto& [run, count] :
       {std::pair(large, kNamesInListMax + 1), std::pair(full, kNamesInListMax), std::pair(small, int64_t{2})}) {
    std::vector<KeyedPoint> points;
    Tags names;
    for (int64_t i = 0; i < count; ++i) {
      points.push_back({name(i), {0, 0, 1.0}});
      names[name(i)] = "x";
    }
    append_points(db(), run, points);
    set_parameters(db(), run, names);
    set_run_tags(db(), run, names);
  }
  const auto page = search_runs(db(), Viewer::of_all(), RunSearch{});
  ASSERT_EQ(page.items.size(), 3u);
  for (const auto& found : page.items) {
    const size_t count = found.id == small ? 2 : static_cast<size_t>(kNamesInListMax);
    EXPECT_EQ(found.metrics.size(), count);
    EXPECT_EQ(found.parameters.size(), count);
    EXPECT_EQ(found.tags.size(), count);
    EXPECT_EQ(found.metrics.back().key, name(static_cast<int64_t>(count) - 1));
    EXPECT_EQ(found.cut, found.id == large ? std::vector<std::string>({"parameters", "tags", "metrics"})
                                           : std::vector<std::string>());
  }
  const auto whole = run(db(), large);
  EXPECT_EQ(whole.metrics.size(), static_cast<size_t>(kNamesInListMax) + 1);
  EXPECT_TRUE(whole.cut.empty());
}

TEST_P(RunsTest, ARunHasSoManyNames) {
  const std::string id = new_run();
  const auto names = [](int64_t from, int64_t count) {
    Tags tags;
    for (int64_t i = from; i < from + count; ++i) tags[fmt::format("n{}", i)] = "x";
    return tags;
  };
  const auto append = [&](int64_t from, int64_t count) {
    std::vector<KeyedPoint> points;
    for (const auto& [key, value] : names(from, count)) points.push_back({key, {0, 0, 1.0}});
    append_points(db(), id, points);
  };
  append(0, kNamesOfRunMax);
  set_parameters(db(), id, names(0, kNamesOfRunMax));
  set_run_tags(db(), id, names(0, kNamesOfRunMax));
  append(0, 2);
  set_parameters(db(), id, names(0, 2));
  set_run_tags(db(), id, names(0, 2));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(refusal([&] { append(kNamesOfRunMax, 1); }), RefusalKind::kInvalid);
    EXPECT_EQ(refusal([&] { set_parameters(db(), id, names(kNamesOfRunMax - 1, 2)); }), RefusalKind::kInvalid);
  }
  EXPECT_EQ(refusal([&] { set_run_tags(db(), id, names(kNamesOfRunMax - 1, 2)); }), RefusalKind::kInvalid);

  std::vector<DataSet> inputs(kInputsOfRunMax);
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].name = fmt::format("d{}", i), inputs[i].digest = "x";
  add_inputs(db(), id, inputs);
  add_inputs(db(), id, inputs);
  inputs.front().name = "one more";
  EXPECT_EQ(refusal([&] { add_inputs(db(), id, {inputs.front()}); }), RefusalKind::kInvalid);
}

TEST_P(RunsTest, AListLeavesOutLongTextsOfDataSets) {
  const std::string id = new_run();
  const std::string fits(kInputTextInListMax, 'a'), longer = fits + "a";
  const auto input = [](const char* name, const std::string& schema, const std::string& profile) {
    return DataSet{
        .name = name, .digest = "x", .source_type = "", .source = "", .schema = schema, .profile = profile, .tags = {}};
  };
  add_inputs(db(), id, {input("a", fits, fits), input("b", longer, fits), input("c", fits, longer)});
  const auto page = search_runs(db(), Viewer::of_all(), RunSearch{});
  ASSERT_EQ(page.items.size(), 1u);
  const auto& found = page.items.front();
  EXPECT_EQ(found.cut, std::vector<std::string>{"inputs"});
  ASSERT_EQ(found.inputs.size(), 3u);
  EXPECT_EQ(found.inputs[0].schema, fits);
  EXPECT_EQ(found.inputs[1].schema, "");
  EXPECT_EQ(found.inputs[1].profile, fits);
  EXPECT_EQ(found.inputs[2].profile, "");
  EXPECT_EQ(run(db(), id).inputs[2].profile, longer);
}

TEST_P(RunsTest, ASearchNamesSoManyExperiments) {
  RunSearch search;
  search.experiments.assign(kExperimentsOfSearchMax, 7);
  EXPECT_TRUE(search_runs(db(), Viewer::of_all(), search).items.empty());
  search.experiments.push_back(7);
  EXPECT_EQ(refusal([&] { search_runs(db(), Viewer::of_all(), search); }), RefusalKind::kInvalid);
}

TEST_P(RunsTest, ExperimentsHaveNamesOfTheirOwn) {
  const int64_t id = create_experiment(db(), "a", "s3://bucket/x", {{"k", "v"}});
  EXPECT_EQ(refusal([&] { create_experiment(db(), "a", "", {}); }), RefusalKind::kExists);
  EXPECT_EQ(refusal([&] { create_experiment(db(), "", "", {}); }), RefusalKind::kInvalid);
  set_experiment_deleted(db(), id, true);
  EXPECT_EQ(refusal([&] { create_experiment(db(), "a", "", {}); }), RefusalKind::kExists);
  NewRun run;
  run.experiment = id;
  EXPECT_EQ(refusal([&] { create_run(db(), run); }), RefusalKind::kState);
  set_experiment_deleted(db(), id, false);
  const auto made = create_run(db(), run);
  EXPECT_EQ(made.artifact_uri, "s3://bucket/x/" + made.id + "/artifacts");
  rename_experiment(db(), id, "b");
  EXPECT_EQ(experiment_by_name(db(), Viewer::of_all(), "b")->tags.at("k"), "v");
  EXPECT_FALSE(experiment_by_name(db(), Viewer::of_all(), "a").has_value());
  EXPECT_EQ(refusal([&] { rename_experiment(db(), id, "Default"); }), RefusalKind::kExists);
  set_experiment_tag(db(), id, "k", "w");
  EXPECT_EQ(experiment(db(), id).tags.at("k"), "w");
  delete_experiment_tag(db(), id, "k");
  EXPECT_EQ(refusal([&] { delete_experiment_tag(db(), id, "k"); }), RefusalKind::kNotFound);
  EXPECT_EQ(refusal([&] { set_experiment_tag(db(), 999, "k", "v"); }), RefusalKind::kNotFound);
}

TEST_P(RunsTest, ExperimentsAreSearched) {
  for (const char* name : {"3dgan-a", "3dgan-b", "other"}) create_experiment(db(), name, "", {{"site", name}});
  set_experiment_deleted(db(), experiment_by_name(db(), Viewer::of_all(), "3dgan-b")->id, true);
  const auto names = [&](const std::string& filter, View view) {
    std::string all;
    for (const auto& e : search_experiments(db(), Viewer::of_all(), filter, {"name"}, view, 10, "").items)
      all += e.name + ' ';
    return all;
  };
  EXPECT_EQ(names("name LIKE '3dgan%'", View::kActive), "3dgan-a ");
  EXPECT_EQ(names("name LIKE '3dgan%'", View::kAll), "3dgan-a 3dgan-b ");
  EXPECT_EQ(names("tags.site = 'other' OR experiment_id = '0'", View::kActive), "Default other ");
  EXPECT_EQ(names("", View::kDeleted), "3dgan-b ");
  const auto first = search_experiments(db(), Viewer::of_all(), "", {}, View::kAll, 3, "");
  EXPECT_EQ(first.items.size(), 3u);
  EXPECT_EQ(search_experiments(db(), Viewer::of_all(), "", {}, View::kAll, 3, first.next).items.size(), 1u);
}

TEST_P(RunsTest, ARunHasWhatItWasGiven) {
  NewRun given;
  given.name = "calo";
  given.user = "kim";
  given.started_ms = 12345;
  given.tags = {{"a", "1"}};
  const auto made = create_run(db(), given);
  EXPECT_EQ(made.id.size(), 32u);
  EXPECT_EQ(made.started_ms, 12345);
  EXPECT_EQ(made.artifact_uri, "mlflow-artifacts:/0/" + made.id + "/artifacts");
  EXPECT_EQ(made.tags, given.tags);
  EXPECT_FALSE(create_run(db(), NewRun()).name.empty());
  given.experiment = 77;
  EXPECT_EQ(refusal([&] { create_run(db(), given); }), RefusalKind::kNotFound);
  EXPECT_EQ(refusal([&] { run(db(), "nobody"); }), RefusalKind::kNotFound);
}

TEST_P(RunsTest, ParametersNeverChange) {
  const std::string id = new_run();
  set_parameters(db(), id, {{"lr", "0.1"}, {"batch", "16"}});
  set_parameters(db(), id, {{"lr", "0.1"}, {"seed", "7"}});
  EXPECT_EQ(refusal([&] { set_parameters(db(), id, {{"aaa", "1"}, {"lr", "0.2"}}); }), RefusalKind::kInvalid);
  EXPECT_EQ(run(db(), id).parameters, (Tags{{"lr", "0.1"}, {"batch", "16"}, {"seed", "7"}}));
  EXPECT_EQ(refusal([&] { set_parameters(db(), id, {{"", "1"}}); }), RefusalKind::kInvalid);
}

TEST_P(RunsTest, TagsChangeAndGo) {
  const std::string id = new_run();
  set_run_tags(db(), id, {{"a", "1"}, {"b", "2"}});
  set_run_tags(db(), id, {{"a", "3"}});
  delete_run_tag(db(), id, "b");
  EXPECT_EQ(run(db(), id).tags, (Tags{{"a", "3"}}));
  EXPECT_EQ(refusal([&] { delete_run_tag(db(), id, "b"); }), RefusalKind::kNotFound);
  EXPECT_EQ(refusal([&] { set_run_tags(db(), id, {{"big", std::string(65537, 'x')}}); }), RefusalKind::kInvalid);
}

TEST_P(RunsTest, StatesAreRecordedWithTheirReasons) {
  const std::string id = new_run();
  RunChange change;
  change.state = RunState::kFailed;
  change.reason = "disk full";
  change.ended_ms = 999;
  update_run(db(), id, change);
  const auto failed = run(db(), id);
  EXPECT_EQ(failed.state, RunState::kFailed);
  EXPECT_EQ(failed.reason, "disk full");
  EXPECT_EQ(failed.ended_ms, 999);
  RunChange again;
  again.state = RunState::kRunning;
  again.name = "second life";
  update_run(db(), id, again);
  EXPECT_EQ(run(db(), id).ended_ms, 0);
  EXPECT_EQ(run(db(), id).name, "second life");
  const auto history = transitions(db(), id);
  ASSERT_EQ(history.size(), 3u);
  EXPECT_EQ(history[0].from, std::nullopt);
  EXPECT_EQ(history[0].to, RunState::kRunning);
  EXPECT_EQ(history[1].from, RunState::kRunning);
  EXPECT_EQ(history[1].to, RunState::kFailed);
  EXPECT_EQ(history[1].reason, "disk full");
  EXPECT_EQ(history[2].to, RunState::kRunning);
  EXPECT_GE(history[2].time_ms, history[1].time_ms);
  for (const char* word :
       {"PENDING", "STARTING", "RUNNING", "RECOVERING", "SUCCEEDED", "FAILED", "FAILED_PRECHECKS", "CANCELLED", "LOST"})
    EXPECT_STREQ(to_string(run_state(word)), word);
  EXPECT_EQ(refusal([] { run_state("FINISHED"); }), RefusalKind::kInvalid);
}

TEST_P(RunsTest, ADeletedRunIsNotWritten) {
  const std::string id = new_run();
  set_run_deleted(db(), id, true);
  EXPECT_EQ(refusal([&] { set_parameters(db(), id, {{"a", "1"}}); }), RefusalKind::kState);
  EXPECT_EQ(refusal([&] { set_run_tags(db(), id, {{"a", "1"}}); }), RefusalKind::kState);
  EXPECT_EQ(refusal([&] { update_run(db(), id, {}); }), RefusalKind::kState);
  EXPECT_TRUE(run(db(), id).deleted);
  EXPECT_TRUE(search_runs(db(), Viewer::of_all(), RunSearch()).items.empty());
  RunSearch deleted;
  deleted.view = View::kDeleted;
  EXPECT_EQ(search_runs(db(), Viewer::of_all(), deleted).items.size(), 1u);
  set_run_deleted(db(), id, false);
  set_parameters(db(), id, {{"a", "1"}});
  EXPECT_EQ(search_runs(db(), Viewer::of_all(), RunSearch()).items.size(), 1u);
}

TEST_P(RunsTest, InputsAreSharedAndFound) {
  const std::string a = new_run("a"), b = new_run("b");
  const DataSet set{"showers", "abc123", "local", "file:///x", "{}", "", {{"mlflow.data.context", "train"}}};
  DataSet other = set;
  other.digest = "def456";
  other.tags = {{"mlflow.data.context", "test"}};
  add_inputs(db(), a, {set, other});
  add_inputs(db(), a, {set});
  add_inputs(db(), b, {set});
  EXPECT_EQ(db().query("SELECT COUNT(*) FROM data_sets").front().integer(0), 2);
  const auto inputs = run(db(), a).inputs;
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].digest, "abc123");
  EXPECT_EQ(inputs[0].tags.at("mlflow.data.context"), "train");
  EXPECT_EQ(inputs[1].tags.at("mlflow.data.context"), "test");
  const auto found = [&](const std::string& filter) {
    RunSearch search;
    search.filter = filter;
    return search_runs(db(), Viewer::of_all(), search).items.size();
  };
  EXPECT_EQ(found("datasets.name = 'showers'"), 2u);
  EXPECT_EQ(found("dataset.digest LIKE 'def%'"), 1u);
  EXPECT_EQ(found("datasets.context = 'test'"), 1u);
}

/// More runs on a page than one statement lists.
TEST_P(RunsTest, ALargePageHasEverything) {
  for (int i = 0; i < 700; ++i) {
    const std::string id = new_run();
    set_run_tags(db(), id, {{"n", id}});
    append_points(db(), id, std::vector<KeyedPoint>{{"m", {1, 1, 1.0}}, {"k", {1, 1, 2.0}}});
  }
  const auto page = search_runs(db(), Viewer::of_all(), RunSearch());
  ASSERT_EQ(page.items.size(), 700u);
  for (const auto& run : page.items) {
    ASSERT_EQ(run.tags.at("n"), run.id);
    ASSERT_EQ(run.metrics.size(), 2u);
    ASSERT_EQ(run.metrics[0].key, "k");
  }
}

}  // namespace
}  // namespace linac::catalog
