#include "linac/control/catalog/experiments.h"

#include <fmt/format.h>

#include <array>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/catalog/filter_sql.h"
#include "linac/control/catalog/paging.h"
#include "linac/control/catalog/records.h"
#include "linac/control/catalog/search.h"

namespace linac::catalog {
namespace {

constexpr std::string_view kColumns =
    "e.id, e.name, e.artifact_location, e.deleted, e.created_ms, e.updated_ms, e.user_name, e.shared";
using Type = Attribute::Type;
constexpr std::string_view kVisibilityWord = "(CASE e.shared WHEN 1 THEN 'shared' ELSE 'private' END)";
constexpr std::array kAttributes{Attribute{"name", "e.name"},
                                 Attribute{"experiment_id", "CAST(e.id AS TEXT)"},
                                 Attribute{"creation_time", "e.created_ms", Type::kInteger},
                                 Attribute{"last_update_time", "e.updated_ms", Type::kInteger},
                                 Attribute{"user", "e.user_name"},
                                 Attribute{"visibility", kVisibilityWord}};
constexpr Searchable kExperiments{.what = "experiments",
                                  .attributes = kAttributes,
                                  .tags = "experiment_tags x WHERE x.experiment = e.id",
                                  .parameters = {},
                                  .metrics = {},
                                  .data_sets = {}};

Experiment of_row(const Row& row) {
  return {.id = row.integer(0),
          .name = row.text(1),
          .user = row.text(6),
          .artifact_location = row.text(2),
          .deleted = row.integer(3) != 0,
          .created_ms = row.integer(4),
          .updated_ms = row.integer(5),
          .visibility = row.integer(7) != 0 ? Visibility::kShared : Visibility::kPrivate,
          .tags = {}};
}

void read_tags(Database& database, std::vector<Experiment>& experiments) {
  std::map<int64_t, Experiment*> by_id;
  std::vector<int64_t> ids;
  for (auto& e : experiments) {
    by_id[e.id] = &e;
    ids.push_back(e.id);
  }
  for_numbers(database, "SELECT experiment, key, value FROM experiment_tags WHERE experiment IN ({numbers})", ids,
              [&](const Row& row) { by_id.at(row.integer(0))->tags[row.text(1)] = row.text(2); });
}

void touch(Database& database, int64_t id) {
  if (database.query("UPDATE experiments SET updated_ms = $2 WHERE id = $1 RETURNING id", id, now_ms()).empty())
    throw Refusal(RefusalKind::kNotFound, fmt::format("[experiments] no experiment {}; search lists them", id));
}

void check_free(Database& database, const std::string& name) {
  check_name("experiment", name);
  if (const auto row = database.first("SELECT id, deleted FROM experiments WHERE name = $1", name))
    throw Refusal(RefusalKind::kExists,
                  fmt::format("[experiments] '{}' exists already, as number {}{}; take it, or choose another name",
                              name, row->integer(0), row->integer(1) != 0 ? " (deleted: it can be restored)" : ""));
}

}  // namespace

int64_t create_experiment(Database& database, const std::string& name, const std::string& artifact_location,
                          const Tags& tags, const std::string& user, Visibility visibility) {
  check_free(database, name);
  check_artifact_location(artifact_location);
  for (const auto& [key, value] : tags) check_tag("tag", key, value);
  if (const auto said = tags.find(kVisibilityTag); said != tags.end()) visibility = catalog::visibility(said->second);
  const int64_t now = now_ms();
  const int64_t id = database
                         .query(
                             "INSERT INTO experiments (name, artifact_location, deleted, created_ms, updated_ms, "
                             "user_name, shared) VALUES ($1, $2, 0, $3, $3, $4, $5) RETURNING id",
                             name, artifact_location, now, user, int64_t{visibility == Visibility::kShared})
                         .front()
                         .integer(0);
  for (const auto& [key, value] : tags)
    if (key != kVisibilityTag)
      database.query("INSERT INTO experiment_tags (experiment, key, value) VALUES ($1, $2, $3)", id, key, value);
  return id;
}

Experiment experiment(Database& database, int64_t id) {
  std::vector<Experiment> found;
  for (const Row& row : database.query(fmt::format("SELECT {} FROM experiments e WHERE e.id = $1", kColumns), id))
    found.push_back(of_row(row));
  if (found.empty())
    throw Refusal(RefusalKind::kNotFound, fmt::format("[experiments] no experiment {}; search lists them", id));
  read_tags(database, found);
  return std::move(found.front());
}

std::optional<Experiment> experiment_by_name(Database& database, const Viewer& viewer, const std::string& name) {
  const auto row = database.first("SELECT id FROM experiments WHERE name = $1", name);
  if (!row || !may_read(viewer, audience_of_experiment(database, row->integer(0)).value())) return std::nullopt;
  return experiment(database, row->integer(0));
}

void rename_experiment(Database& database, int64_t id, const std::string& name) {
  if (experiment(database, id).name != name) check_free(database, name);
  database.query("UPDATE experiments SET name = $2 WHERE id = $1", id, name);
  touch(database, id);
}

void set_experiment_deleted(Database& database, int64_t id, bool deleted) {
  touch(database, id);
  database.query("UPDATE experiments SET deleted = $2 WHERE id = $1", id, int64_t{deleted});
}

void set_experiment_visibility(Database& database, int64_t id, Visibility visibility) {
  touch(database, id);
  database.query("UPDATE experiments SET shared = $2 WHERE id = $1", id, int64_t{visibility == Visibility::kShared});
}

void set_experiment_tag(Database& database, int64_t id, const std::string& key, const std::string& value) {
  if (key == kVisibilityTag) return set_experiment_visibility(database, id, visibility(value));
  check_tag("tag", key, value);
  touch(database, id);
  database.query(
      "INSERT INTO experiment_tags (experiment, key, value) VALUES ($1, $2, $3) "
      "ON CONFLICT (experiment, key) DO UPDATE SET value = excluded.value",
      id, key, value);
}

void delete_experiment_tag(Database& database, int64_t id, const std::string& key) {
  if (key == kVisibilityTag) return set_experiment_visibility(database, id, Visibility::kPrivate);
  experiment(database, id);
  if (database.query("DELETE FROM experiment_tags WHERE experiment = $1 AND key = $2 RETURNING key", id, key).empty())
    throw Refusal(RefusalKind::kNotFound, fmt::format("[experiments] experiment {} has no tag '{}'", id, key));
  touch(database, id);
}

Page<Experiment> search_experiments(Database& database, const Viewer& viewer, const std::string& filter,
                                    const std::vector<std::string>& order, View view, int64_t limit,
                                    const std::string& token) {
  Search search{.kind = kExperiments,
                .table = "experiments e",
                .result = std::string(kColumns),
                .condition = view == View::kAll      ? "1 = 1"
                             : view == View::kActive ? "e.deleted = 0"
                                                     : "e.deleted <> 0",
                .readable = kReadableExperiments,
                .viewer = viewer,
                .filter = filter,
                .order = order,
                .order_last = order.empty() ? "e.updated_ms DESC, e.id DESC" : "e.id",
                .limit = limit,
                .token = token};
  Page<Experiment> page;
  for (const Row& row : search.rows(database, page.next)) page.items.push_back(of_row(row));
  read_tags(database, page.items);
  return page;
}

}  // namespace linac::catalog
