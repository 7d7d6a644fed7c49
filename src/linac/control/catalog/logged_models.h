#pragma once
// Models that runs logged, as MLflow 3 has them: each with parameters, tags and metrics of its own, before (or without)
// being registered (models.h). All functions work within the transaction of the connection they are given.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/control/catalog/experiments.h"
#include "linac/control/catalog/points.h"

namespace linac::catalog {

/// A metric that a run measured on a logged model; of each key the latest is kept, the curve is the run's.
struct LoggedMetric {
  std::string model, run;
  KeyedPoint point;
  std::string data_set, digest;
};

struct LoggedModel {
  std::string id;  // "m-" and 32 hexadecimal digits
  int64_t experiment = 0;
  std::string name, type, run;  // the run that made it; empty: none
  std::string user;             // who made it; empty: nobody
  std::string status = "LOGGED_MODEL_PENDING";
  bool deleted = false;
  int64_t created_ms = 0, updated_ms = 0;
  std::string artifact_uri;  // "mlflow-artifacts:/0/models/m-.../artifacts"
  Tags parameters, tags;
  std::vector<LoggedMetric> metrics;
};

struct NewLoggedModel {
  int64_t experiment = 0;
  std::string name, type, run;  // no name: one is made
  std::string user{};
  Tags parameters, tags;
};
/// Where its artefacts are: `location` is its experiment's.
std::string logged_model_artifacts(int64_t experiment, const std::string& location, const std::string& id);

/// kNotFound for the experiment or the run.
LoggedModel create_logged_model(Database& database, const NewLoggedModel& model);
LoggedModel logged_model(Database& database, const std::string& id, bool also_deleted = false);  // kNotFound
void set_logged_model_status(Database& database, const std::string& id, const std::string& status);
void set_logged_model_deleted(Database& database, const std::string& id);
void set_logged_model_tags(Database& database, const std::string& id, const Tags& tags);
void delete_logged_model_tag(Database& database, const std::string& id, const std::string& key);
/// kInvalid if one of them was set to another value before.
void add_logged_model_parameters(Database& database, const std::string& id, const Tags& parameters);
/// kNotFound for the model; a point that is older than what is kept changes nothing.
void add_logged_metrics(Database& database, const std::vector<LoggedMetric>& metrics);

/// Those of the experiments, newest first unless `order` says else. Attributes: name, model_id, model_type, status,
/// source_run_id, creation_timestamp, last_updated_timestamp.
Page<LoggedModel> search_logged_models(Database& database, const Viewer& viewer,
                                       const std::vector<int64_t>& experiments, const std::string& filter,
                                       const std::vector<std::string>& order, int64_t limit, const std::string& token);

/// What a run read or made.
struct RunModel {
  std::string model;
  bool output = false;
  int64_t step = 0;
};
void link_model(Database& database, const std::string& run, const RunModel& link);  // kNotFound for the run
std::vector<RunModel> run_models(Database& database, const std::string& run);

}  // namespace linac::catalog
