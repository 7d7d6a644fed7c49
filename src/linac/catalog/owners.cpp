#include "linac/catalog/owners.h"

#include <fmt/format.h>

#include "linac/base/refusal.h"
#include "linac/catalog/logged_models.h"
#include "linac/catalog/runs.h"

namespace linac::catalog {
namespace {

template <class... P>
std::string found(Database& database, const std::string& what, const char* sql, const P&... parameters) {
  const auto row = database.first(sql, parameters...);
  if (!row) throw Refusal(RefusalKind::kNotFound, what + "; search lists those that there are");
  return row->text(0);
}

}  // namespace

std::string experiment_owner(Database& database, int64_t id) {
  return found(database, fmt::format("[experiments] no experiment {}", id),
               "SELECT user_name FROM experiments WHERE id = $1", id);
}

std::string run_owner(Database& database, const std::string& id) {
  return found(database, fmt::format("[runs] no run '{}'", id.substr(0, 64)),
               "SELECT user_name FROM runs WHERE id = $1", id);
}

std::string logged_model_owner(Database& database, const std::string& id) {
  return found(database, fmt::format("[models] no logged model '{}'", id.substr(0, 64)),
               "SELECT user_name FROM logged_models WHERE id = $1", id);
}

std::string model_owner(Database& database, const std::string& name) {
  return found(database, fmt::format("[models] no model '{}'", name.substr(0, 100)),
               "SELECT user_name FROM models WHERE name = $1", name);
}

std::optional<OwnedPlace> place_of_run(Database& database, const std::string& id) {
  const auto row = database.first(
      "SELECT r.user_name, e.id, e.artifact_location FROM runs r JOIN experiments e ON e.id = r.experiment WHERE r.id "
      "= "
      "$1",
      id);
  if (!row) return std::nullopt;
  return OwnedPlace{row->text(0), run_artifacts(row->integer(1), row->text(2), id)};
}

std::optional<OwnedPlace> place_of_logged_model(Database& database, const std::string& id) {
  const auto row = database.first(
      "SELECT m.user_name, e.id, e.artifact_location FROM logged_models m JOIN experiments e ON e.id = m.experiment "
      "WHERE m.id = $1",
      id);
  if (!row) return std::nullopt;
  return OwnedPlace{row->text(0), logged_model_artifacts(row->integer(1), row->text(2), id)};
}

std::optional<std::string> place_owner(Database& database, const std::string& place) {
  const auto row = database.first("SELECT user_name FROM artifact_owners WHERE place = $1", place);
  return row ? std::optional(row->text(0)) : std::nullopt;
}

std::string take_place(Database& database, const std::string& place, const std::string& user) {
  database.query("INSERT INTO artifact_owners (place, user_name) VALUES ($1, $2) ON CONFLICT (place) DO NOTHING", place,
                 user);
  return place_owner(database, place).value_or("");
}

bool experiment_lies_below(Database& database, const std::string& uri) {
  return database
      .first(
          "SELECT 1 FROM experiments WHERE artifact_location = $1 OR (artifact_location >= $2 AND artifact_location < "
          "$3)",
          uri, uri + "/", uri + "0")  // '0' comes after '/'
      .has_value();
}

bool is_queued(Database& database, const std::string& run) {
  const auto row = database.first("SELECT r.state FROM jobs j JOIN runs r ON r.number = j.run WHERE r.id = $1", run);
  return row && !ended(run_state(row->text(0)));
}

}  // namespace linac::catalog
