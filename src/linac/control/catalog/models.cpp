#include "linac/control/catalog/models.h"

#include <fmt/format.h>

#include <array>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/model_rows.h"
#include "linac/control/catalog/search.h"

namespace linac::catalog {
namespace {

using Type = Attribute::Type;
constexpr std::string_view kVisibilityWord = "(CASE m.shared WHEN 1 THEN 'shared' ELSE 'private' END)";
constexpr std::array kAttributes{Attribute{"name", "m.name"},
                                 Attribute{"description", "m.description"},
                                 Attribute{"creation_timestamp", "m.created_ms", Type::kInteger},
                                 Attribute{"last_updated_timestamp", "m.updated_ms", Type::kInteger},
                                 Attribute{"timestamp", "m.updated_ms", Type::kInteger},
                                 Attribute{"user", "m.user_name"},
                                 Attribute{"visibility", kVisibilityWord}};
constexpr Searchable kModels{.what = "models",
                             .attributes = kAttributes,
                             .tags = "model_tags x WHERE x.model = m.number",
                             .parameters = {},
                             .metrics = {},
                             .data_sets = {}};
constexpr const char* kColumns = "m.number, m.name, m.description, m.created_ms, m.updated_ms, m.user_name, m.shared";

std::vector<RegisteredModel> models_of(Database& database, const std::vector<Row>& rows) {
  std::vector<RegisteredModel> models;
  std::vector<int64_t> numbers;
  std::map<int64_t, size_t> places;
  std::map<std::string, size_t> names;
  for (const Row& row : rows) {
    places[row.integer(0)] = names[row.text(1)] = models.size();
    numbers.push_back(row.integer(0));
    RegisteredModel model;
    model.name = row.text(1);
    model.description = row.text(2);
    model.created_ms = row.integer(3);
    model.updated_ms = row.integer(4);
    model.user = row.text(5);
    model.visibility = row.integer(6) != 0 ? Visibility::kShared : Visibility::kPrivate;
    models.push_back(std::move(model));
  }
  const auto of = [&](const Row& row) -> RegisteredModel& { return models[places.at(row.integer(0))]; };
  for_numbers(database, "SELECT model, key, value FROM model_tags WHERE model IN ({numbers})", numbers,
              [&](const Row& row) { of(row).tags[row.text(1)] = row.text(2); });
  for_numbers(database, "SELECT model, alias, version FROM model_aliases WHERE model IN ({numbers})", numbers,
              [&](const Row& row) { of(row).aliases[row.text(1)] = row.integer(2); });
  std::vector<Row> latest;
  for_numbers(
      database,
      fmt::format(
          "SELECT {} FROM model_versions v JOIN models m ON m.number = v.model WHERE v.model IN ({{numbers}}) AND "
          "v.version = (SELECT MAX(w.version) FROM model_versions w WHERE w.model = v.model AND w.stage = "
          "v.stage) ORDER BY v.model, v.version",
          kVersionColumns),
      numbers, [&](const Row& row) { latest.push_back(row); });
  for (ModelVersion& version : versions_of_rows(database, latest))
    models[names.at(version.model)].latest.push_back(std::move(version));
  return models;
}

void check_model_name(const std::string& name) {
  check_name("model", name);
  if (name.find_first_of("/:%") != std::string::npos)
    throw Refusal(
        RefusalKind::kInvalid,
        fmt::format("[models] '{}' has one of / : % in it, which addresses of models use; choose another name", name));
}

void check_free(Database& database, const std::string& name) {
  check_model_name(name);
  if (database.first("SELECT 1 FROM models WHERE name = $1", name))
    throw Refusal(RefusalKind::kExists,
                  fmt::format("[models] '{}' exists already; add a version to it, or choose another name", name));
}

}  // namespace

int64_t model_number(Database& database, const std::string& name) {
  const auto row = database.first("SELECT number FROM models WHERE name = $1", name);
  if (!row)
    throw Refusal(RefusalKind::kNotFound,
                  fmt::format("[models] no model '{}'; `linac models list` shows them", name.substr(0, 100)));
  return row->integer(0);
}

void touch_model(Database& database, int64_t number) {
  database.query("UPDATE models SET updated_ms = $2 WHERE number = $1", number, now_ms());
}

RegisteredModel create_model(Database& database, const std::string& name, const std::string& description,
                             const Tags& tags, const std::string& user, Visibility visibility) {
  check_free(database, name);
  for (const auto& [key, value] : tags) check_tag("tag", key, value);
  database.query(
      "INSERT INTO models (name, description, created_ms, updated_ms, versions, user_name, shared) VALUES ($1, $2, $3, "
      "$3, 0, $4, $5)",
      name, description, now_ms(), user, int64_t{visibility == Visibility::kShared});
  for (const auto& [key, value] : tags) set_model_tag(database, name, key, value);
  return model(database, name);
}

RegisteredModel model(Database& database, const std::string& name) {
  const int64_t number = model_number(database, name);
  return std::move(
      models_of(database, database.query(fmt::format("SELECT {} FROM models m WHERE m.number = $1", kColumns), number))
          .front());
}

void rename_model(Database& database, const std::string& name, const std::string& to) {
  const int64_t number = model_number(database, name);
  if (name != to) check_free(database, to);
  database.query("UPDATE models SET name = $2 WHERE number = $1", number, to);
  touch_model(database, number);
}

void describe_model(Database& database, const std::string& name, const std::string& description) {
  const int64_t number = model_number(database, name);
  database.query("UPDATE models SET description = $2 WHERE number = $1", number, description);
  touch_model(database, number);
}

void delete_model(Database& database, const std::string& name) {
  database.query("DELETE FROM models WHERE number = $1", model_number(database, name));
}

void set_model_visibility(Database& database, const std::string& name, Visibility visibility) {
  const int64_t number = model_number(database, name);
  database.query("UPDATE models SET shared = $2 WHERE number = $1", number, int64_t{visibility == Visibility::kShared});
  touch_model(database, number);
}

void set_model_tag(Database& database, const std::string& name, const std::string& key, const std::string& value) {
  if (key == kVisibilityTag) return set_model_visibility(database, name, visibility(value));
  check_tag("tag", key, value);
  const int64_t number = model_number(database, name);
  database.query(
      "INSERT INTO model_tags (model, key, value) VALUES ($1, $2, $3) "
      "ON CONFLICT (model, key) DO UPDATE SET value = excluded.value",
      number, key, value);
  touch_model(database, number);
}

void delete_model_tag(Database& database, const std::string& name, const std::string& key) {
  if (key == kVisibilityTag) return set_model_visibility(database, name, Visibility::kPrivate);
  const int64_t number = model_number(database, name);
  database.query("DELETE FROM model_tags WHERE model = $1 AND key = $2", number, key);
  touch_model(database, number);
}

void set_alias(Database& database, const std::string& name, const std::string& alias, int64_t version) {
  check_key("alias", alias);
  const int64_t number = number_with_version(database, name, version);
  database.query(
      "INSERT INTO model_aliases (model, alias, version) VALUES ($1, $2, $3) "
      "ON CONFLICT (model, alias) DO UPDATE SET version = excluded.version",
      number, alias, version);
  touch_model(database, number);
}

void delete_alias(Database& database, const std::string& name, const std::string& alias) {
  const int64_t number = model_number(database, name);
  database.query("DELETE FROM model_aliases WHERE model = $1 AND alias = $2", number, alias);
  touch_model(database, number);
}

ModelVersion version_by_alias(Database& database, const std::string& name, const std::string& alias) {
  const auto row = database.first("SELECT version FROM model_aliases WHERE model = $1 AND alias = $2",
                                  model_number(database, name), alias);
  if (!row)
    throw Refusal(RefusalKind::kNotFound,
                  fmt::format("[models] model '{}' has no alias '{}'; `linac models show` lists them", name,
                              alias.substr(0, 100)));
  return version(database, name, row->integer(0));
}

Page<RegisteredModel> search_models(Database& database, const Viewer& viewer, const std::string& filter,
                                    const std::vector<std::string>& order, int64_t limit, const std::string& token) {
  const Search search{.kind = kModels,
                      .table = "models m",
                      .result = kColumns,
                      .condition = "1 = 1",
                      .readable = kReadableModels,
                      .viewer = viewer,
                      .filter = filter,
                      .order = order,
                      .order_last = "m.name",
                      .limit = limit,
                      .token = token};
  Page<RegisteredModel> page;
  page.items = models_of(database, search.rows(database, page.next));
  return page;
}

}  // namespace linac::catalog
