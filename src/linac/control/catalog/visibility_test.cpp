#include "linac/control/catalog/visibility.h"

#include <gtest/gtest.h>

#include <array>

#include "linac/control/catalog/logged_models.h"
#include "linac/control/catalog/models.h"
#include "linac/control/catalog/owners.h"
#include "linac/control/catalog/queue.h"
#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

const Viewer kAnn{"ann"}, kBob{"bob"};

class VisibilityTest : public RecordsTest {
 protected:
  std::string run_of(const std::string& user, int64_t experiment) {
    return create_run(db(), {.experiment = experiment, .name = user + "'s", .user = user}).id;
  }
  std::string found(const Viewer& viewer, int64_t limit = 100) {
    RunSearch search;
    search.order = {"name"};
    search.limit = limit;
    std::string names;
    for (bool first = true; first || !search.token.empty(); first = false) {
      const auto page = search_runs(db(), viewer, search);
      for (const auto& run : page.items) names += run.name + ' ';
      search.token = page.next;
    }
    return names;
  }
  std::string experiments(const Viewer& viewer, const std::string& filter = "") {
    std::string names;
    for (const auto& e : search_experiments(db(), viewer, filter, {"name"}, View::kAll, 10, "").items)
      names += e.name + ' ';
    return names;
  }
};
LINAC_BOTH_DATABASES(VisibilityTest);

TEST_P(VisibilityTest, RunsFollowTheirExperiment) {
  const int64_t mine = create_experiment(db(), "ann's", "", {}, "ann");
  const std::string of_ann = run_of("ann", mine), of_bob = run_of("bob", mine);
  run_of("carl", 0);
  EXPECT_EQ(found(kAnn), "ann's ");
  EXPECT_EQ(found(kBob), "bob's ");
  EXPECT_EQ(found(Viewer::of_all()), "ann's bob's carl's ");
  EXPECT_TRUE(may_read(kAnn, *audience_of_run(db(), of_ann)));
  EXPECT_FALSE(may_read(kAnn, *audience_of_run(db(), of_bob)));
  EXPECT_FALSE(may_read({""}, *audience_of_run(db(), of_bob)));
  EXPECT_FALSE(audience_of_run(db(), "none"));
  set_experiment_visibility(db(), mine, Visibility::kShared);
  EXPECT_EQ(found(kAnn), "ann's bob's ");
  EXPECT_EQ(found({"dora"}, 1), "ann's bob's ") << "pages hold what may be read, and end with it";
  EXPECT_TRUE(may_read(kAnn, *audience_of_run(db(), of_bob)));
  set_experiment_visibility(db(), 0, Visibility::kShared);
  EXPECT_EQ(found(kAnn), "ann's bob's carl's ");
}

TEST_P(VisibilityTest, FiltersReachNothingThatIsHidden) {
  const int64_t mine = create_experiment(db(), "ann's", "", {}, "ann");
  set_parameters(db(), run_of("ann", mine), {{"secret", "1"}});
  RunSearch search;
  for (const char* filter : {"params.secret = '1'", "name LIKE '%' OR params.secret = '1'", "NOT name = 'x'",
                             "user = 'ann' OR user = 'ann'"}) {
    search.filter = filter;
    EXPECT_EQ(search_runs(db(), kAnn, search).items.size(), 1u) << filter;
    EXPECT_TRUE(search_runs(db(), kBob, search).items.empty()) << filter;
  }
}

TEST_P(VisibilityTest, ADataSetIsNotToldToWhoNamesItToo) {
  const std::string of_ann = run_of("ann", 0), of_bob = run_of("bob", 0);
  add_inputs(db(), of_ann, {{"showers", "abc", "local", "/home/ann/secret.h5", "her schema", "", {}}});
  add_inputs(db(), of_bob, {{"showers", "abc", "", "", "", "", {}}});
  EXPECT_EQ(run(db(), of_ann).inputs.at(0).source, "/home/ann/secret.h5");
  EXPECT_EQ(run(db(), of_bob).inputs.at(0).source, "");
  EXPECT_EQ(run(db(), of_bob).inputs.at(0).schema, "");
}

TEST_P(VisibilityTest, ExperimentsAreSeenByName) {
  const int64_t mine = create_experiment(db(), "ann's", "", {}, "ann");
  create_experiment(db(), "for all", "", {{kVisibilityTag, "shared"}, {"a", "1"}}, "bob");
  EXPECT_EQ(experiments(kAnn), "Default ann's for all ");
  EXPECT_EQ(experiments(kBob), "Default for all ");
  EXPECT_EQ(experiments(kBob, "visibility = 'shared'"), "for all ");
  EXPECT_EQ(experiments(kAnn, "visibility = 'private' AND user = 'ann'"), "ann's ");
  EXPECT_FALSE(experiment_by_name(db(), kBob, "ann's"));
  EXPECT_EQ(experiment_by_name(db(), kAnn, "ann's")->id, mine);
  EXPECT_EQ(experiment_by_name(db(), kAnn, "for all")->tags, (Tags{{"a", "1"}}));
  EXPECT_EQ(refusal([&] { refuse_hidden_experiment_name(db(), kBob, "ann's"); }), RefusalKind::kDenied);
  EXPECT_EQ(refusal([&] { refuse_hidden_experiment_name(db(), kAnn, "ann's"); }), std::nullopt);
  EXPECT_EQ(refusal([&] { refuse_hidden_experiment_name(db(), kBob, "free"); }), std::nullopt);
  EXPECT_EQ(refusal([&] { set_experiment_tag(db(), mine, kVisibilityTag, "everybody"); }), RefusalKind::kInvalid);
  set_experiment_tag(db(), mine, kVisibilityTag, "shared");
  EXPECT_TRUE(experiment_by_name(db(), kBob, "ann's"));
  delete_experiment_tag(db(), mine, kVisibilityTag);
  EXPECT_FALSE(experiment_by_name(db(), kBob, "ann's"));
}

TEST_P(VisibilityTest, ModelsAreSharedWithTheirFiles) {
  create_model(db(), "calo", "", {}, "ann");
  const int64_t mine = create_experiment(db(), "ann's", "", {}, "ann");
  const std::string run = run_of("ann", mine), files = "1/" + run + "/artifacts/model";
  NewVersion version;
  version.files = "mlflow-artifacts:/" + files;
  create_version(db(), "calo", version);
  const auto seen = [&](const Viewer& viewer) {
    const size_t models = search_models(db(), viewer, "", {}, 10, "").items.size();
    EXPECT_EQ(search_versions(db(), viewer, "", {}, 10, "").items.size(), models);
    return models;
  };
  EXPECT_EQ(seen(kAnn), 1u);
  EXPECT_EQ(seen(kBob), 0u);
  EXPECT_FALSE(shown_by_a_model(db(), files, "ann"));
  EXPECT_EQ(refusal([&] { refuse_hidden_model_name(db(), kBob, "calo"); }), RefusalKind::kDenied);
  set_model_tag(db(), "calo", kVisibilityTag, "shared");
  EXPECT_EQ(seen(kBob), 1u);
  EXPECT_EQ(model(db(), "calo").visibility, Visibility::kShared);
  EXPECT_TRUE(model(db(), "calo").tags.empty());
  EXPECT_TRUE(shown_by_a_model(db(), files, "ann"));
  EXPECT_TRUE(shown_by_a_model(db(), files + "/weights", "ann"));
  EXPECT_FALSE(shown_by_a_model(db(), "1/" + run + "/artifacts", "ann")) << "the rest of the run";
  EXPECT_FALSE(shown_by_a_model(db(), files + "s", "ann"));
  EXPECT_FALSE(shown_by_a_model(db(), files, "bob")) << "nobody shares what is another's";
  delete_model_tag(db(), "calo", kVisibilityTag);
  EXPECT_EQ(seen(kBob), 0u);
}

TEST_P(VisibilityTest, LoggedModelsAndJobsFollowToo) {
  const int64_t mine = create_experiment(db(), "ann's", "", {}, "ann");
  NewLoggedModel logged;
  logged.experiment = mine;
  logged.user = "ann";
  const std::string id = create_logged_model(db(), logged).id;
  const std::string job = submit(db(), {.experiment = mine, .name = "job", .user = "ann"}, "{}", {}, "");
  const auto models = [&](const Viewer& viewer) {
    return search_logged_models(db(), viewer, {mine, 0}, "", {}, 10, "").items.size();
  };
  EXPECT_EQ(models(kAnn), 1u);
  EXPECT_EQ(models(kBob), 0u);
  EXPECT_FALSE(may_read(kBob, *audience_of_logged_model(db(), id)));
  EXPECT_EQ(readable_queue(db(), kAnn), (std::set<std::string>{job}));
  EXPECT_TRUE(readable_queue(db(), kBob).empty());
  set_experiment_visibility(db(), mine, Visibility::kShared);
  EXPECT_EQ(models(kBob), 1u);
  EXPECT_EQ(readable_queue(db(), kBob), (std::set<std::string>{job}));
}

class VisibilityMigrationTest : public CatalogTest {};
LINAC_BOTH_DATABASES(VisibilityMigrationTest);

TEST_P(VisibilityMigrationTest, WhatWasThereStaysShared) {
  const auto database = open_database(url_);
  migrate(*database, 4);
  database->query(
      "INSERT INTO experiments (name, artifact_location, deleted, created_ms, updated_ms, user_name) VALUES "
      "('old', '', 0, 1, 1, 'ann')");
  database->query(
      "INSERT INTO models (name, description, created_ms, updated_ms, versions, user_name) VALUES "
      "('old', '', 1, 1, 1, 'ann')");
  database->query(
      "INSERT INTO model_versions (model, version, source, run, description, user_name, stage, status, "
      "created_ms, updated_ms) VALUES (1, 1, 'mlflow-artifacts:/models/old/12', '', '', 'ann', 'None', "
      "'READY', 1, 1)");
  database->query(
      "INSERT INTO experiments (name, artifact_location, deleted, created_ms, updated_ms, user_name) VALUES "
      "('host', 'HTTPS://host/x', 0, 1, 1, 'ann'), ('own', 'mlflow-artifacts:/calo', 0, 1, 1, 'ann'), "
      "('proxied', 'mlflow-artifacts://host/x', 0, 1, 1, 'ann')");
  database->query(
      "INSERT INTO model_versions (model, version, source, run, description, user_name, stage, status, "
      "created_ms, updated_ms) VALUES (1, 2, 'http://host/x', '', '', 'ann', 'None', 'READY', 1, 1)");
  database->query("INSERT INTO users (name, role, account, disabled, created_ms) VALUES ('ann', 'member', '', 0, 1)");
  database->query(
      "INSERT INTO runs (id, experiment, name, user_name, state, reason, deleted, created_ms, started_ms, "
      "ended_ms, order_ms) VALUES ('r', 0, 'r', 'ann', 'RUNNING', '', 0, 1, 1, 0, 1)");
  database->query(
      "INSERT INTO data_sets (experiment, name, digest, source_type, source, schema_text, profile) VALUES "
      "(0, 'set', 'd', '', 'here', '', '')");
  database->query("INSERT INTO inputs (run, data_set) VALUES (1, 1)");
  database->query("INSERT INTO input_tags (run, data_set, key, value) VALUES (1, 1, 'k', 'v')");
  migrate(*database);
  EXPECT_EQ(run(*database, "r").inputs.at(0).source, "here");
  EXPECT_EQ(run(*database, "r").inputs.at(0).tags, (Tags{{"k", "v"}}));
  add_inputs(*database, "r", {{"set", "d", "", "anew", "", "", {}}, {"other", "d", "", "", "", "", {}}});
  EXPECT_EQ(run(*database, "r").inputs.size(), 3u);
  EXPECT_EQ(place_owner(*database, "models/old/12"), "ann");
  EXPECT_THROW(database->query("DELETE FROM data_sets WHERE number = 1"), std::exception) << "inputs refer to it";
  for (const auto& e : search_experiments(*database, kBob, "", {}, View::kAll, 10, "").items)
    EXPECT_EQ(e.visibility, Visibility::kShared) << e.name;
  EXPECT_EQ(search_experiments(*database, kBob, "", {}, View::kAll, 10, "").items.size(), 5u);
  for (const auto& [name, location, former] : {std::array{"host", "", "HTTPS://host/x"},
                                               {"own", "mlflow-artifacts:/calo", ""},
                                               {"proxied", "", "mlflow-artifacts://host/x"}}) {
    const auto found = experiment_by_name(*database, kBob, name);
    EXPECT_EQ(found->artifact_location, location);
    EXPECT_EQ(found->tags, former[0] == '\0' ? Tags() : (Tags{{"linac.former_location", former}}));
  }
  EXPECT_EQ(version(*database, "old", 2).source, "refused:http://host/x") << "MLflow's client sends its token there";
  EXPECT_EQ(version(*database, "old", 1).source, "mlflow-artifacts:/models/old/12");
  EXPECT_EQ(search_models(*database, kBob, "", {}, 10, "").items.size(), 1u);
  EXPECT_TRUE(shown_by_a_model(*database, "models/old/12/model.keras", "ann"));
  EXPECT_FALSE(shown_by_a_model(*database, "models/old/12/model.keras", ""));
}

TEST_P(VisibilityMigrationTest, ANewCatalogBeginsPrivate) {
  const auto database = open_database(url_);
  migrate(*database);
  EXPECT_EQ(experiment(*database, 0).visibility, Visibility::kPrivate);
}

}  // namespace
}  // namespace linac::catalog
