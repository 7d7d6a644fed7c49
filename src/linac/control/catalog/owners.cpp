#include "linac/control/catalog/owners.h"

#include <algorithm>

#include "linac/control/catalog/logged_models.h"
#include "linac/control/catalog/runs.h"

namespace linac::catalog {
namespace {

// Deeper ones are below one of these or no model's.
constexpr int kPartsMax = 32;

}  // namespace

std::optional<OwnedPlace> place_of_run(Database& database, const std::string& id) {
  const auto row = database.first(
      "SELECT r.user_name, e.shared, e.id, e.artifact_location FROM runs r JOIN experiments e ON e.id = r.experiment "
      "WHERE r.id = $1",
      id);
  if (!row) return std::nullopt;
  return OwnedPlace{{row->text(0), row->integer(1) != 0}, run_artifacts(row->integer(2), row->text(3), id)};
}

std::optional<OwnedPlace> place_of_logged_model(Database& database, const std::string& id) {
  const auto row = database.first(
      "SELECT m.user_name, e.shared, e.id, e.artifact_location FROM logged_models m JOIN experiments e ON e.id = "
      "m.experiment WHERE m.id = $1",
      id);
  if (!row) return std::nullopt;
  return OwnedPlace{{row->text(0), row->integer(1) != 0}, logged_model_artifacts(row->integer(2), row->text(3), id)};
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

bool shown_by_a_model(Database& database, const std::string& path, const std::string& owner) {
  size_t end = 0;
  for (int parts = 0; parts < kPartsMax && end < path.size(); ++parts) {
    end = std::min(path.find('/', end + 1), path.size());
    if (database.first("SELECT 1 FROM model_versions v JOIN models m ON m.number = v.model WHERE v.files = $1 AND "
                       "m.shared = 1 AND m.user_name = $2",
                       "mlflow-artifacts:/" + path.substr(0, end), owner))
      return true;
  }
  return false;
}

bool is_queued(Database& database, const std::string& run) {
  const auto row = database.first("SELECT r.state FROM jobs j JOIN runs r ON r.number = j.run WHERE r.id = $1", run);
  return row && !ended(run_state(row->text(0)));
}

}  // namespace linac::catalog
