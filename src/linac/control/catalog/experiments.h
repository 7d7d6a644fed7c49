#pragma once
// Experiments: named groups of runs, as MLflow has them. Number 0, "Default", always exists. All functions work within
// the transaction of the connection they are given (catalog.h).

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/catalog/visibility.h"

namespace linac::catalog {

using Tags = std::map<std::string, std::string>;

enum class View { kActive, kDeleted, kAll };

struct Experiment {
  int64_t id = 0;
  std::string name;
  std::string user;               // who made it; empty: nobody
  std::string artifact_location;  // as the creator gave it; empty: the service's own folder
  bool deleted = false;
  int64_t created_ms = 0, updated_ms = 0;
  Visibility visibility = Visibility::kPrivate;
  Tags tags;  // without kVisibilityTag
};

/// kExists for a name that is taken, also by a deleted one; kInvalid for an empty name, and for a location that
/// check_artifact_location() refuses. A kVisibilityTag among the tags counts more than `visibility`.
int64_t create_experiment(Database& database, const std::string& name, const std::string& artifact_location,
                          const Tags& tags, const std::string& user = {}, Visibility visibility = Visibility::kPrivate);
/// kNotFound.
Experiment experiment(Database& database, int64_t id);
/// Nothing also for one that the viewer may not read.
std::optional<Experiment> experiment_by_name(Database& database, const Viewer& viewer, const std::string& name);
void rename_experiment(Database& database, int64_t id, const std::string& name);
void set_experiment_deleted(Database& database, int64_t id, bool deleted);
void set_experiment_visibility(Database& database, int64_t id, Visibility visibility);
/// Of kVisibilityTag they set the visibility.
void set_experiment_tag(Database& database, int64_t id, const std::string& key, const std::string& value);
void delete_experiment_tag(Database& database, int64_t id, const std::string& key);

/// A page of a search; `token` of the next one is empty at the end.
template <class T>
struct Page {
  std::vector<T> items;
  std::string next;
};
/// `filter` and `order` in MLflow's language (filter.h), e.g. "name LIKE '3dgan%' AND tags.site = 'T2'", "creation_time
/// DESC".
Page<Experiment> search_experiments(Database& database, const Viewer& viewer, const std::string& filter,
                                    const std::vector<std::string>& order, View view, int64_t limit,
                                    const std::string& token);

}  // namespace linac::catalog
