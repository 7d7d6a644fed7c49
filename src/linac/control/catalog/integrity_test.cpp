#include "linac/control/catalog/integrity.h"

#include <gtest/gtest.h>

#include <fstream>

#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/owners.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/test_catalog.h"
#include "linac/control/catalog/users.h"

namespace linac::catalog {
namespace {

class IntegrityTest : public CatalogTest {};
LINAC_BOTH_DATABASES(IntegrityTest);

User named(const char* name) {
  User user;
  user.name = name;
  return user;
}

std::string run_with_points(Catalog& catalog) {
  return catalog.write([](Database& d) {
    const std::string id = create_run(d, {}).id;
    std::vector<KeyedPoint> points;
    for (int64_t i = 0; i < 100; ++i) points.push_back({"m", {i, i, 0.5}});
    append_points(d, id, points);
    return id;
  });
}

TEST_P(IntegrityTest, ASoundCatalogIsSoundAndAWrongCountIsFound) {
  Catalog catalog(url_);
  const std::string run = run_with_points(catalog);
  EXPECT_TRUE(damage_of(url_).empty());
  EXPECT_EQ(catalog.damage(), "");
  change_beside_service(url_, [](Database& d) { d.query("UPDATE series SET count = 200"); });
  const auto found = damage_of(url_);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found.front().find(run), std::string::npos) << found.front();
}

TEST_P(IntegrityTest, WhatAnotherProgramChangesIsThereOrNotAtAll) {
  Catalog catalog(url_);
  change_beside_service(url_, [](Database& d) { create_user(d, named("ann")); });
  EXPECT_EQ(catalog.read_as([](Database& d) { return user(d, "ann").name; }), "ann");
  EXPECT_THROW(change_beside_service(url_,
                                     [](Database& d) {
                                       create_user(d, named("bob"));
                                       create_user(d, named("ann"));
                                     }),
               Refusal);
  EXPECT_EQ(catalog.read_as([](Database& d) { return users(d).size(); }), 1u);
}

TEST(Integrity, IntoADamagedCatalogNothingIsWritten) {
  const TemporaryFolder folder;
  const std::string path = (folder.path() / "c.db").string();
  int64_t root = 0, page = 0;
  {
    Catalog catalog(path);
    run_with_points(catalog);
    catalog.read([&](Database& d) {
      root = d.query("SELECT rootpage FROM sqlite_master WHERE name = 'run_tags'").front().integer(0);
      page = d.query("PRAGMA page_size").front().integer(0);
    });
  }
  EXPECT_TRUE(damage_of(path).empty());
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp((root - 1) * page);
  for (int64_t i = 0; i < page; ++i) file.put('\x5a');
  file.close();
  EXPECT_FALSE(damage_of(path).empty());
  Catalog catalog(path);
  EXPECT_NE(catalog.damage(), "");
  EXPECT_THROW(catalog.write([](Database& d) { create_run(d, {}); }), Error);
  EXPECT_EQ(catalog.read_as([](Database& d) { return users(d).size(); }), 0u);
}

class OwnersTest : public RecordsTest {};
LINAC_BOTH_DATABASES(OwnersTest);

TEST_P(OwnersTest, AreWhoMadeIt) {
  const int64_t experiment = create_experiment(db(), "e", "mlflow-artifacts:/team/x/", {}, "ann");
  const std::string run = create_run(db(), {.experiment = experiment, .name = "r", .user = "bob"}).id;
  EXPECT_EQ(place_of_run(db(), run)->audience.owner, "bob");
  EXPECT_EQ(place_of_run(db(), run)->artifact_uri, "mlflow-artifacts:/team/x/" + run + "/artifacts");
  EXPECT_FALSE(place_of_run(db(), std::string(32, '0')));
  EXPECT_FALSE(is_queued(db(), run));
  EXPECT_EQ(take_place(db(), "models/a/b", "ann"), "ann");
  EXPECT_EQ(take_place(db(), "models/a/b", "bob"), "ann");
  EXPECT_FALSE(place_owner(db(), "models/a"));
  EXPECT_TRUE(experiment_lies_below(db(), "mlflow-artifacts:/team"));
  EXPECT_FALSE(experiment_lies_below(db(), "mlflow-artifacts:/te"));
}

}  // namespace
}  // namespace linac::catalog
