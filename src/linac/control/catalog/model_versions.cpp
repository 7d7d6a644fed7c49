#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/model_rows.h"
#include "linac/control/catalog/search.h"

namespace linac::catalog {

const char* const kVersionColumns =
    "m.name, v.version, v.source, v.run, v.description, v.user_name, v.stage, v.status, v.created_ms, v.updated_ms, "
    "v.model, v.files";

namespace {

constexpr std::array<const char*, 4> kStages{"None", "Staging", "Production", "Archived"};

using Type = Attribute::Type;
constexpr std::array kAttributes{Attribute{"name", "m.name"},
                                 Attribute{"version_number", "v.version", Type::kInteger},
                                 Attribute{"version", "v.version", Type::kInteger},
                                 Attribute{"run_id", "v.run"},
                                 Attribute{"source_path", "v.source"},
                                 Attribute{"source", "v.source"},
                                 Attribute{"current_stage", "v.stage"},
                                 Attribute{"stage", "v.stage"},
                                 Attribute{"status", "v.status"},
                                 Attribute{"user_id", "v.user_name"},
                                 Attribute{"creation_timestamp", "v.created_ms", Type::kInteger},
                                 Attribute{"last_updated_timestamp", "v.updated_ms", Type::kInteger}};
constexpr Searchable kVersions{.what = "model versions",
                               .attributes = kAttributes,
                               .tags = "version_tags x WHERE x.model = v.model AND x.version = v.version",
                               .parameters = {},
                               .metrics = {},
                               .data_sets = {}};

/// MLflow's clients send any case.
const char* stage_of(const std::string& word) {
  const auto same = [&](const char* stage) {
    return std::equal(word.begin(), word.end(), stage, stage + std::char_traits<char>::length(stage),
                      [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == std::tolower(b); });
  };
  for (const char* stage : kStages)
    if (same(stage)) return stage;
  throw Refusal(
      RefusalKind::kInvalid,
      fmt::format("[models] no stage '{}'; there are None, Staging, Production, Archived", word.substr(0, 40)));
}

void touch_version(Database& database, int64_t model, int64_t version) {
  database.query("UPDATE model_versions SET updated_ms = $3 WHERE model = $1 AND version = $2", model, version,
                 now_ms());
}

}  // namespace

int64_t number_with_version(Database& database, const std::string& name, int64_t version) {
  const int64_t number = model_number(database, name);
  if (!database.first("SELECT 1 FROM model_versions WHERE model = $1 AND version = $2", number, version))
    throw Refusal(RefusalKind::kNotFound,
                  fmt::format("[models] model '{}' has no version {}; `linac models show` lists them", name, version));
  return number;
}

std::vector<ModelVersion> versions_of_rows(Database& database, const std::vector<Row>& rows) {
  std::vector<ModelVersion> versions;
  std::vector<int64_t> models;
  std::map<std::pair<int64_t, int64_t>, size_t> places;
  for (const Row& row : rows) {
    places[{row.integer(10), row.integer(1)}] = versions.size();
    models.push_back(row.integer(10));
    ModelVersion v;
    v.model = row.text(0);
    v.version = row.integer(1);
    v.source = row.text(2);
    v.run = row.text(3);
    v.description = row.text(4);
    v.user = row.text(5);
    v.stage = row.text(6);
    v.status = row.text(7);
    v.created_ms = row.integer(8);
    v.updated_ms = row.integer(9);
    v.files = row.text(11);
    versions.push_back(std::move(v));
  }
  std::sort(models.begin(), models.end());
  models.erase(std::unique(models.begin(), models.end()), models.end());
  const auto each = [&](const Row& row, const auto& action) {
    if (const auto at = places.find({row.integer(0), row.integer(1)}); at != places.end()) action(versions[at->second]);
  };
  for_numbers(database, "SELECT model, version, key, value FROM version_tags WHERE model IN ({numbers})", models,
              [&](const Row& row) { each(row, [&](ModelVersion& v) { v.tags[row.text(2)] = row.text(3); }); });
  for_numbers(database, "SELECT model, version, alias FROM model_aliases WHERE model IN ({numbers}) ORDER BY alias",
              models, [&](const Row& row) { each(row, [&](ModelVersion& v) { v.aliases.push_back(row.text(2)); }); });
  return versions;
}

ModelVersion create_version(Database& database, const std::string& name, const NewVersion& version) {
  for (const auto& [key, value] : version.tags) check_tag("tag", key, value);
  const int64_t model = model_number(database, name), now = now_ms();
  // The model counts its versions, so that the number of a deleted one is not given again.
  const int64_t number =
      database
          .query(
              "UPDATE models SET versions = versions + 1, updated_ms = $2 WHERE number = $1 RETURNING "
              "versions",
              model, now)
          .front()
          .integer(0);
  database.query(
      "INSERT INTO model_versions (model, version, source, run, description, user_name, stage, status, created_ms, "
      "updated_ms, files) VALUES ($1, $2, $3, $4, $5, $6, 'None', 'READY', $7, $7, $8)",
      model, number, version.source, version.run, version.description, version.user, now, version.files);
  for (const auto& [key, value] : version.tags) set_version_tag(database, name, number, key, value);
  return catalog::version(database, name, number);
}

ModelVersion version(Database& database, const std::string& name, int64_t number) {
  const int64_t model = number_with_version(database, name, number);
  const auto rows =
      database.query(fmt::format("SELECT {} FROM model_versions v JOIN models m ON m.number = v.model WHERE "
                                 "v.model = $1 AND v.version = $2",
                                 kVersionColumns),
                     model, number);
  return std::move(versions_of_rows(database, rows).front());
}

void describe_version(Database& database, const std::string& name, int64_t number, const std::string& description) {
  const int64_t model = number_with_version(database, name, number);
  database.query("UPDATE model_versions SET description = $3 WHERE model = $1 AND version = $2", model, number,
                 description);
  touch_version(database, model, number);
}

ModelVersion transition_version(Database& database, const std::string& name, int64_t number, const std::string& stage,
                                bool archive_others) {
  const std::string to = stage_of(stage);
  const int64_t model = number_with_version(database, name, number), now = now_ms();
  if (archive_others && to != "Staging" && to != "Production")
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[models] others are archived from Staging or Production only, not from {}", to));
  if (archive_others)
    database.query(
        "UPDATE model_versions SET stage = 'Archived', updated_ms = $4 WHERE model = $1 AND version <> $2 AND stage "
        "= $3",
        model, number, to, now);
  database.query("UPDATE model_versions SET stage = $3, updated_ms = $4 WHERE model = $1 AND version = $2", model,
                 number, to, now);
  touch_model(database, model);
  return version(database, name, number);
}

void delete_version(Database& database, const std::string& name, int64_t number) {
  const int64_t model = number_with_version(database, name, number);
  database.query("DELETE FROM model_versions WHERE model = $1 AND version = $2", model, number);
  touch_model(database, model);
}

void set_version_tag(Database& database, const std::string& name, int64_t number, const std::string& key,
                     const std::string& value) {
  check_tag("tag", key, value);
  const int64_t model = number_with_version(database, name, number);
  database.query(
      "INSERT INTO version_tags (model, version, key, value) VALUES ($1, $2, $3, $4) "
      "ON CONFLICT (model, version, key) DO UPDATE SET value = excluded.value",
      model, number, key, value);
  touch_version(database, model, number);
}

void delete_version_tag(Database& database, const std::string& name, int64_t number, const std::string& key) {
  const int64_t model = number_with_version(database, name, number);
  database.query("DELETE FROM version_tags WHERE model = $1 AND version = $2 AND key = $3", model, number, key);
  touch_version(database, model, number);
}

Page<ModelVersion> search_versions(Database& database, const Viewer& viewer, const std::string& filter,
                                   const std::vector<std::string>& order, int64_t limit, const std::string& token) {
  const Search search{.kind = kVersions,
                      .table = "model_versions v JOIN models m ON m.number = v.model",
                      .result = kVersionColumns,
                      .condition = "1 = 1",
                      .readable = kReadableModels,
                      .viewer = viewer,
                      .filter = filter,
                      .order = order,
                      .order_last = "v.updated_ms DESC, m.name, v.version DESC",
                      .limit = limit,
                      .token = token};
  Page<ModelVersion> page;
  page.items = versions_of_rows(database, search.rows(database, page.next));
  return page;
}

}  // namespace linac::catalog
