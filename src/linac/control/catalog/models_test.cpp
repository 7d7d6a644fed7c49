#include "linac/control/catalog/models.h"

#include <gtest/gtest.h>

#include "linac/control/catalog/test_catalog.h"

namespace linac::catalog {
namespace {

class ModelsTest : public RecordsTest {};
LINAC_BOTH_DATABASES(ModelsTest);

NewVersion made(const std::string& source) {
  return {source, "run1", "text", "kim", {{"kind", "gan"}}};
}

TEST_P(ModelsTest, NamesAreUniqueAndFitAddresses) {
  EXPECT_EQ(create_model(db(), "calo", "showers", {{"a", "1"}}).tags.at("a"), "1");
  EXPECT_EQ(refusal([&] { create_model(db(), "calo", "", {}); }), RefusalKind::kExists);
  for (const char* bad : {"", "a/b", "a:b", "a%b"})
    EXPECT_EQ(refusal([&] { create_model(db(), bad, "", {}); }), RefusalKind::kInvalid) << bad;
  EXPECT_EQ(refusal([&] { model(db(), "other"); }), RefusalKind::kNotFound);
  create_model(db(), "other", "", {});
  EXPECT_EQ(refusal([&] { rename_model(db(), "calo", "other"); }), RefusalKind::kExists);
  rename_model(db(), "calo", "ecal");
  EXPECT_EQ(model(db(), "ecal").description, "showers");
}

TEST_P(ModelsTest, VersionsCountUpAndAreNotGivenTwice) {
  create_model(db(), "m", "", {});
  EXPECT_EQ(create_version(db(), "m", made("a")).version, 1);
  EXPECT_EQ(create_version(db(), "m", made("b")).version, 2);
  delete_version(db(), "m", 2);
  EXPECT_EQ(create_version(db(), "m", made("c")).version, 3);
  EXPECT_EQ(refusal([&] { version(db(), "m", 2); }), RefusalKind::kNotFound);
  const ModelVersion v = version(db(), "m", 3);
  EXPECT_EQ(v.source, "c");
  EXPECT_EQ(v.user, "kim");
  EXPECT_EQ(v.tags.at("kind"), "gan");
  EXPECT_EQ(v.stage, "None");
  EXPECT_EQ(refusal([&] { create_version(db(), "none", made("a")); }), RefusalKind::kNotFound);
}

TEST_P(ModelsTest, AliasesNameOneVersionAndGoWithIt) {
  create_model(db(), "m", "", {});
  create_version(db(), "m", made("a"));
  create_version(db(), "m", made("b"));
  set_alias(db(), "m", "champion", 1);
  set_alias(db(), "m", "champion", 2);
  set_alias(db(), "m", "also", 2);
  EXPECT_EQ(version_by_alias(db(), "m", "champion").version, 2);
  EXPECT_EQ(version(db(), "m", 2).aliases, (std::vector<std::string>{"also", "champion"}));
  EXPECT_TRUE(version(db(), "m", 1).aliases.empty());
  EXPECT_EQ(model(db(), "m").aliases.at("champion"), 2);
  EXPECT_EQ(refusal([&] { set_alias(db(), "m", "x", 9); }), RefusalKind::kNotFound);
  delete_alias(db(), "m", "also");
  delete_version(db(), "m", 2);
  EXPECT_EQ(refusal([&] { version_by_alias(db(), "m", "champion"); }), RefusalKind::kNotFound);
}

TEST_P(ModelsTest, StagesMoveAndOthersAreArchived) {
  create_model(db(), "m", "", {});
  for (const char* source : {"a", "b", "c"}) create_version(db(), "m", made(source));
  transition_version(db(), "m", 1, "production", false);
  EXPECT_EQ(transition_version(db(), "m", 2, "Production", true).stage, "Production");
  EXPECT_EQ(version(db(), "m", 1).stage, "Archived");
  EXPECT_EQ(version(db(), "m", 3).stage, "None");
  EXPECT_EQ(refusal([&] { transition_version(db(), "m", 2, "Heaven", false); }), RefusalKind::kInvalid);
  EXPECT_EQ(refusal([&] { transition_version(db(), "m", 2, "Archived", true); }), RefusalKind::kInvalid);
  const auto latest = model(db(), "m").latest;
  ASSERT_EQ(latest.size(), 3u);
  create_version(db(), "m", made("d"));
  for (const auto& v : model(db(), "m").latest) EXPECT_EQ(v.version == 4, v.stage == "None");
}

TEST_P(ModelsTest, SearchesAndDeletion) {
  for (const char* name : {"calo-a", "calo-b", "track"}) {
    create_model(db(), name, "", {{"team", name[0] == 'c' ? "ecal" : "si"}});
    create_version(db(), name, made(std::string("s3://x/") + name));
  }
  create_version(db(), "calo-a", {"elsewhere", "run2", "", "", {}});
  EXPECT_EQ(search_models(db(), Viewer::of_all(), "name LIKE 'calo%'", {"name DESC"}, 10, "").items.at(0).name,
            "calo-b");
  EXPECT_EQ(search_models(db(), Viewer::of_all(), "tags.team = 'si'", {}, 10, "").items.size(), 1u);
  EXPECT_EQ(
      search_versions(db(), Viewer::of_all(), "name = 'calo-a'", {"version_number DESC"}, 10, "").items.at(0).version,
      2);
  EXPECT_EQ(
      search_versions(db(), Viewer::of_all(), "run_id = 'run1' AND source_path LIKE 's3:%'", {}, 10, "").items.size(),
      3u);
  EXPECT_EQ(search_versions(db(), Viewer::of_all(), "tags.kind = 'gan' AND version_number = 1", {}, 2, "").items.size(),
            2u);
  EXPECT_EQ(search_versions(db(), Viewer::of_all(), "tag.kind IS NULL", {"tags.kind"}, 2, "").items.size(), 1u);
  const auto first = search_models(db(), Viewer::of_all(), "", {}, 2, "");
  EXPECT_EQ(search_models(db(), Viewer::of_all(), "", {}, 2, first.next).items.at(0).name, "track");
  set_alias(db(), "calo-a", "x", 1);
  delete_model(db(), "calo-a");
  EXPECT_EQ(search_versions(db(), Viewer::of_all(), "name = 'calo-a'", {}, 10, "").items.size(), 0u);
  EXPECT_EQ(db().query("SELECT COUNT(*) FROM version_tags").front().integer(0), 2);
  EXPECT_EQ(refusal([&] { delete_model(db(), "calo-a"); }), RefusalKind::kNotFound);
}

}  // namespace
}  // namespace linac::catalog
