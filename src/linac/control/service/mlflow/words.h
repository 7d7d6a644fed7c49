#pragma once
// The catalog in the words of MLflow's REST API, and back: protobuf messages as JSON (mlflow/protos/service.proto,
// model_registry.proto).

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "linac/control/catalog/experiments.h"
#include "linac/control/catalog/models.h"
#include "linac/control/catalog/points.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/service/things.h"

namespace linac::service::mlflow {

/// A route below /api/2.0/mlflow/ of the body that goes with its method.
Route route(Method method, const std::string& path, const char* name, const char* summary, Permission permission,
            std::vector<FieldRule> fields, Handler handler);
/// A change of the run that the body names, by its owner.
Permission of_run();
/// What the request names is read, by who may.
Permission shows(Changes::Find things);
Permission shows_run();
/// What is found for who asks.
Permission finds();
constexpr size_t kBodyBytesMax = 4 << 20, kSearchBytesMax = 256 << 10;  // of what records, and of what only reads

// A batch's limits, as MLflow's server has them.
constexpr size_t kMetricsMax = 1000, kParametersMax = 100, kTagsMax = 100, kEntitiesMax = 1000;
constexpr size_t kParameterBytesMax = 6000, kTagBytesMax = 8000;  // longer ones are cut

int64_t experiment_id(const std::string& text);                 // kInvalid
catalog::View view(const Request& request, const char* field);  // by name or number; ACTIVE_ONLY if it was not sent
const char* status(catalog::RunState state);
catalog::RunState state(const std::string& status);  // kInvalid
std::string run_id(const Request& request);          // by its present or former field; kInvalid if there is none
/// The request's filter of models or versions. Clients add "tag.`mlflow.prompt.is_prompt` != 'true'" to it, and mean
/// models without that tag, too.
std::string model_filter(const Request& request);
/// `max_results` within [1, most]; kInvalid else.
int64_t page_size(const Request& request, int64_t otherwise, int64_t most);

/// From a list of {"key", "value"}; values longer than `bytes_max` are cut.
catalog::Tags tags(const nlohmann::json& list, size_t bytes_max);
/// The same for parameters; kInvalid for one that comes with two values.
catalog::Tags parameters(const nlohmann::json& list);
nlohmann::json tags_json(const catalog::Tags& tags);
/// From a list of {"key", "value", "timestamp", "step"}.
std::vector<catalog::KeyedPoint> points(std::span<const nlohmann::json> list);
nlohmann::json metric_json(const std::string& key, const catalog::Point& point);

nlohmann::json experiment_json(const catalog::Experiment& experiment);
nlohmann::json run_info_json(const catalog::Run& run);
nlohmann::json run_json(const catalog::Run& run);
nlohmann::json model_json(const catalog::RegisteredModel& model);
nlohmann::json version_json(const catalog::ModelVersion& version);

// Tags of a version that are fields to MLflow.
constexpr const char* kModelIdTag = "linac.mlflow.model_id";
constexpr const char* kUserTag = "mlflow.user";  // of a run: its user, whatever a client writes
constexpr const char* kRunLinkTag = "linac.mlflow.run_link";

}  // namespace linac::service::mlflow
