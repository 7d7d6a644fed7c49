#include "linac/control/catalog/logged_models.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <map>

#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/secure_random.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/catalog/filter_sql.h"
#include "linac/control/catalog/names.h"
#include "linac/control/catalog/records.h"
#include "linac/control/catalog/search.h"

namespace linac::catalog {
namespace {

using Type = Attribute::Type;
constexpr std::array kAttributes{Attribute{"name", "m.name"},
                                 Attribute{"model_id", "m.id"},
                                 Attribute{"model_type", "m.type"},
                                 Attribute{"status", "m.status"},
                                 Attribute{"source_run_id", "m.run"},
                                 Attribute{"experiment_id", "CAST(m.experiment AS TEXT)"},
                                 Attribute{"creation_timestamp", "m.created_ms", Type::kInteger},
                                 Attribute{"creation_time", "m.created_ms", Type::kInteger},
                                 Attribute{"last_updated_timestamp", "m.updated_ms", Type::kInteger}};
constexpr Searchable kLoggedModels{.what = "logged models",
                                   .attributes = kAttributes,
                                   .tags = "logged_model_tags x WHERE x.model = m.number",
                                   .parameters = "logged_model_parameters x WHERE x.model = m.number",
                                   .metrics = "logged_model_metrics x WHERE x.model = m.number",
                                   .data_sets = {}};

LoggedModel of_row(const Row& row) {
  LoggedModel model;
  model.id = row.text(1);
  model.experiment = row.integer(2);
  model.name = row.text(3);
  model.type = row.text(4);
  model.run = row.text(5);
  model.status = row.text(6);
  model.deleted = row.integer(7) != 0;
  model.created_ms = row.integer(8);
  model.updated_ms = row.integer(9);
  model.user = row.text(11);
  model.artifact_uri = logged_model_artifacts(model.experiment, row.text(10), model.id);
  return model;
}

std::vector<LoggedModel> models_of(Database& database, const std::vector<int64_t>& numbers) {
  std::vector<LoggedModel> models(numbers.size());
  std::map<int64_t, LoggedModel*> by_number;
  for (size_t i = 0; i < numbers.size(); ++i) by_number[numbers[i]] = &models[i];
  const auto of = [&](const Row& row) -> LoggedModel& { return *by_number.at(row.integer(0)); };
  for_numbers(
      database,
      "SELECT m.number, m.id, m.experiment, m.name, m.type, m.run, m.status, m.deleted, m.created_ms, m.updated_ms, "
      "e.artifact_location, m.user_name FROM logged_models m JOIN experiments e ON e.id = m.experiment WHERE m.number "
      "IN "
      "({numbers})",
      numbers, [&](const Row& row) { of(row) = of_row(row); });
  for_numbers(database, "SELECT model, key, value FROM logged_model_parameters WHERE model IN ({numbers})", numbers,
              [&](const Row& row) { of(row).parameters[row.text(1)] = row.text(2); });
  for_numbers(database, "SELECT model, key, value FROM logged_model_tags WHERE model IN ({numbers})", numbers,
              [&](const Row& row) { of(row).tags[row.text(1)] = row.text(2); });
  for_numbers(database,
              "SELECT model, run, key, data_set, digest, last FROM logged_model_metrics WHERE model IN ({numbers}) "
              "ORDER BY model, key, run",
              numbers, [&](const Row& row) {
                LoggedModel& model = of(row);
                model.metrics.push_back(
                    {model.id, row.text(1), {row.text(2), unpacked(row.bytes(5)).at(0)}, row.text(3), row.text(4)});
              });
  return models;
}

int64_t number_of(Database& database, const std::string& id, bool also_deleted = false) {
  const auto row = database.first("SELECT number, deleted FROM logged_models WHERE id = $1", id);
  if (!row || (row->integer(1) != 0 && !also_deleted))
    throw Refusal(RefusalKind::kNotFound, fmt::format("[models] no logged model '{}'; search lists them", id));
  return row->integer(0);
}

void touch(Database& database, int64_t number) {
  database.query("UPDATE logged_models SET updated_ms = $2 WHERE number = $1", number, now_ms());
}

void put_tags(Database& database, int64_t number, const Tags& tags) {
  for (const auto& [key, value] : tags) {
    check_tag("tag", key, value);
    database.query(
        "INSERT INTO logged_model_tags (model, key, value) VALUES ($1, $2, $3) "
        "ON CONFLICT (model, key) DO UPDATE SET value = excluded.value",
        number, key, value);
  }
}

void put_parameters(Database& database, int64_t number, const Tags& parameters) {
  for (const auto& [key, value] : parameters) {
    check_tag("parameter", key, value);
    const auto former =
        database.first("SELECT value FROM logged_model_parameters WHERE model = $1 AND key = $2", number, key);
    if (former && former->text(0) != value)
      throw Refusal(
          RefusalKind::kInvalid,
          fmt::format("[models] parameter '{}' is '{}' already (a parameter never changes)", key, former->text(0)));
    if (!former)
      database.query("INSERT INTO logged_model_parameters (model, key, value) VALUES ($1, $2, $3)", number, key, value);
  }
}

}  // namespace

std::string logged_model_artifacts(int64_t experiment, const std::string& location, const std::string& id) {
  return artifacts_of(experiment, location, "models/" + id);
}

LoggedModel create_logged_model(Database& database, const NewLoggedModel& model) {
  experiment(database, model.experiment);
  if (!model.run.empty()) run_number(database, model.run);
  const std::string id = "m-" + random_hex(32), name = model.name.empty() ? random_run_name() : model.name;
  check_name("model", name);
  const int64_t number =
      database
          .query(
              "INSERT INTO logged_models (id, experiment, name, type, run, status, deleted, created_ms, updated_ms, "
              "user_name) VALUES ($1, $2, $3, $4, $5, 'LOGGED_MODEL_PENDING', 0, $6, $6, $7) RETURNING number",
              id, model.experiment, name, model.type, model.run, now_ms(), model.user)
          .front()
          .integer(0);
  put_tags(database, number, model.tags);
  put_parameters(database, number, model.parameters);
  return models_of(database, {number}).front();
}

LoggedModel logged_model(Database& database, const std::string& id, bool also_deleted) {
  return models_of(database, {number_of(database, id, also_deleted)}).front();
}

void set_logged_model_status(Database& database, const std::string& id, const std::string& status) {
  database.query("UPDATE logged_models SET status = $2, updated_ms = $3 WHERE number = $1", number_of(database, id),
                 status, now_ms());
}

void set_logged_model_deleted(Database& database, const std::string& id) {
  database.query("UPDATE logged_models SET deleted = 1, updated_ms = $2 WHERE number = $1", number_of(database, id),
                 now_ms());
}

void set_logged_model_tags(Database& database, const std::string& id, const Tags& tags) {
  const int64_t number = number_of(database, id);
  put_tags(database, number, tags);
  touch(database, number);
}

void delete_logged_model_tag(Database& database, const std::string& id, const std::string& key) {
  const int64_t number = number_of(database, id);
  if (database.query("DELETE FROM logged_model_tags WHERE model = $1 AND key = $2 RETURNING key", number, key).empty())
    throw Refusal(RefusalKind::kNotFound, fmt::format("[models] logged model '{}' has no tag '{}'", id, key));
  touch(database, number);
}

void add_logged_model_parameters(Database& database, const std::string& id, const Tags& parameters) {
  const int64_t number = number_of(database, id);
  put_parameters(database, number, parameters);
  touch(database, number);
}

void add_logged_metrics(Database& database, const std::vector<LoggedMetric>& metrics) {
  for (const LoggedMetric& metric : metrics) {
    const int64_t number = number_of(database, metric.model);
    const Point& point = metric.point.point;
    check_key("metric", metric.point.key);
    const auto former = database.first(
        "SELECT last FROM logged_model_metrics WHERE model = $1 AND run = $2 AND key = $3 AND "
        "data_set = $4 AND digest = $5",
        number, metric.run, metric.point.key, metric.data_set, metric.digest);
    if (former) {
      const Point last = unpacked(former->bytes(0)).at(0);
      if (std::pair(point.step, point.time_ms) < std::pair(last.step, last.time_ms)) continue;
    }
    database.query(
        "INSERT INTO logged_model_metrics (model, run, key, data_set, digest, last, last_value) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (model, run, key, data_set, digest) "
        "DO UPDATE SET last = excluded.last, last_value = excluded.last_value",
        number, metric.run, metric.point.key, metric.data_set, metric.digest, packed(std::array{point}),
        std::isnan(point.value) ? Value() : Value(point.value));
  }
}

Page<LoggedModel> search_logged_models(Database& database, const Viewer& viewer,
                                       const std::vector<int64_t>& experiments, const std::string& filter,
                                       const std::vector<std::string>& order, int64_t limit, const std::string& token) {
  check_experiments(experiments.size());
  std::string condition = "m.deleted = 0 AND m.experiment IN (-1";
  for (const int64_t id : experiments) condition += fmt::format(",{}", id);
  condition += ')';
  const Search search{.kind = kLoggedModels,
                      .table = "logged_models m",
                      .result = "m.number",
                      .condition = std::move(condition),
                      .readable = kReadableLoggedModels,
                      .viewer = viewer,
                      .filter = filter,
                      .order = order,
                      .order_last = "m.created_ms DESC, m.number DESC",
                      .limit = limit,
                      .token = token};
  Page<LoggedModel> page;
  std::vector<int64_t> numbers;
  for (const Row& row : search.rows(database, page.next)) numbers.push_back(row.integer(0));
  page.items = models_of(database, numbers);
  return page;
}

void link_model(Database& database, const std::string& run, const RunModel& link) {
  database.query(
      "INSERT INTO run_models (run, model, output, step) VALUES ($1, $2, $3, $4) "
      "ON CONFLICT (run, model, output) DO UPDATE SET step = excluded.step",
      run_number(database, run, true), link.model, int64_t{link.output}, link.step);
}

std::vector<RunModel> run_models(Database& database, const std::string& run) {
  std::vector<RunModel> links;
  for (const Row& row :
       database.query("SELECT m.model, m.output, m.step FROM run_models m JOIN runs r ON r.number = m.run "
                      "WHERE r.id = $1 ORDER BY m.step, m.model",
                      run))
    links.push_back({row.text(0), row.integer(1) != 0, row.integer(2)});
  return links;
}

}  // namespace linac::catalog
