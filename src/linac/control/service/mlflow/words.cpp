#include "linac/control/service/mlflow/words.h"

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/http/routes/json_fields.h"

namespace linac::service::mlflow {

using catalog::RunState;
using nlohmann::json;

Route route(Method method, const std::string& path, const char* name, const char* summary, Permission permission,
            std::vector<FieldRule> fields, Handler handler) {
  Route route;
  route.method = method;
  route.pattern = "/api/2.0/mlflow/" + path;
  route.name = std::string("mlflow_") + name;
  route.summary = summary;
  route.access = permission.access;
  route.changes = std::move(permission.changes);
  route.reads = std::move(permission.reads);
  route.body = method == Method::kGet ? BodyKind::kNone : BodyKind::kJson;
  route.fields = std::move(fields);
  route.handler = std::move(handler);
  route.body_bytes_max = route.changes.what == Changes::What::kNothing ? kSearchBytesMax : kBodyBytesMax;
  return route;
}

Permission of_run() {
  return {Access::kMember, Changes::of([](const Request& request) {
            return std::vector<Thing>{{kRunThing, run_id(request)}};
          })};
}

Permission shows(Changes::Find things) {
  return {Access::kViewer, Reads::of(std::move(things))};
}

Permission shows_run() {
  return shows([](const Request& request) { return std::vector<Thing>{{kRunThing, run_id(request)}}; });
}

Permission finds() {
  return {Access::kViewer, Reads::found()};
}

int64_t experiment_id(const std::string& text) {
  int64_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (text.empty() || error != std::errc() || end != text.data() + text.size() || id < 0)
    throw Refusal(
        RefusalKind::kInvalid,
        fmt::format("[experiments] '{}' is no experiment's id (wanted: a number, e.g. \"0\")", printable(text)));
  return id;
}

catalog::View view(const Request& request, const char* field) {
  const std::string word = request.text(field, "ACTIVE_ONLY");
  if (word == "ACTIVE_ONLY" || word == "1" || word.empty()) return catalog::View::kActive;
  if (word == "DELETED_ONLY" || word == "2") return catalog::View::kDeleted;
  if (word == "ALL" || word == "3") return catalog::View::kAll;
  throw Refusal(RefusalKind::kInvalid, fmt::format("[request] '{}' is '{}' (wanted: ACTIVE_ONLY, DELETED_ONLY or ALL)",
                                                   field, printable(word)));
}

const char* status(RunState state) {
  return job::mlflow_status(state);
}

RunState state(const std::string& status) {
  if (const auto state = job::state_of_mlflow(status)) return *state;
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[runs] '{}' is no status (wanted: RUNNING, SCHEDULED, FINISHED, FAILED or KILLED)",
                            printable(status)));
}

std::string model_filter(const Request& request) {
  constexpr std::string_view kAdded = "tag.`mlflow.prompt.is_prompt` != 'true'";
  constexpr std::string_view kMeant = "NOT tag.`mlflow.prompt.is_prompt` = 'true'";
  std::string filter = request.text("filter");
  if (const size_t at = filter.rfind(kAdded); at != std::string::npos) filter.replace(at, kAdded.size(), kMeant);
  return filter;
}

int64_t page_size(const Request& request, int64_t otherwise, int64_t most) {
  const int64_t size = request.integer("max_results", otherwise);
  if (size >= 1 && size <= most) return size;
  throw Refusal(RefusalKind::kInvalid, fmt::format("[request] 'max_results' is {} (wanted: 1 to {})", size, most));
}

catalog::Tags tags(const json& list, size_t bytes_max) {
  catalog::Tags tags;
  for (const json& tag : list) {
    std::string value = http::text_of(tag, "value", "");
    if (value.size() > bytes_max) {
      value.resize(bytes_max);
      while (!valid_text(value)) value.pop_back();
    }
    tags[http::text_of(tag, "key")] = std::move(value);
  }
  return tags;
}

catalog::Tags parameters(const json& list) {
  catalog::Tags result;
  for (const json& one : list) {
    for (const auto& [key, value] : tags(json::array({one}), kParameterBytesMax)) {
      const auto [place, added] = result.emplace(key, value);
      if (!added && place->second != value)
        throw Refusal(
            RefusalKind::kInvalid,
            fmt::format("[runs] parameter '{}' comes with two values; a parameter never changes", printable(key)));
    }
  }
  return result;
}

json tags_json(const catalog::Tags& tags) {
  json list = json::array();
  for (const auto& [key, value] : tags) list.push_back({{"key", key}, {"value", value}});
  return list;
}

std::vector<catalog::KeyedPoint> points(std::span<const json> list) {
  std::vector<catalog::KeyedPoint> points;
  points.reserve(list.size());
  for (const json& metric : list)
    points.push_back({http::text_of(metric, "key"),
                      {http::integer_of(metric, "step", 0), http::integer_of(metric, "timestamp"),
                       http::number_of(metric, "value")}});
  return points;
}

json metric_json(const std::string& key, const catalog::Point& point) {
  return {{"key", key}, {"value", http::number_json(point.value)}, {"timestamp", point.time_ms}, {"step", point.step}};
}

/// To clients that know tags alone. What is private has none, as all that they make themselves.
catalog::Tags with_visibility(catalog::Tags tags, catalog::Visibility visibility) {
  if (visibility == catalog::Visibility::kShared) tags[catalog::kVisibilityTag] = catalog::to_string(visibility);
  return tags;
}

json experiment_json(const catalog::Experiment& experiment) {
  return {
      {"experiment_id", std::to_string(experiment.id)},
      {"name", experiment.name},
      {"artifact_location", experiment.artifact_location.empty() ? fmt::format("mlflow-artifacts:/{}", experiment.id)
                                                                 : experiment.artifact_location},
      {"lifecycle_stage", experiment.deleted ? "deleted" : "active"},
      {"creation_time", experiment.created_ms},
      {"last_update_time", experiment.updated_ms},
      {"tags", tags_json(with_visibility(experiment.tags, experiment.visibility))}};
}

json run_info_json(const catalog::Run& run) {
  json info = {{"run_id", run.id},
               {"run_uuid", run.id},
               {"run_name", run.name},
               {"experiment_id", std::to_string(run.experiment)},
               {"user_id", run.user},
               {"status", status(run.state)},
               {"artifact_uri", run.artifact_uri},
               {"lifecycle_stage", run.deleted ? "deleted" : "active"},
               {"start_time", run.started_ms}};
  if (run.ended_ms != 0) info["end_time"] = run.ended_ms;
  return info;
}

json run_json(const catalog::Run& run) {
  json metrics = json::array(), inputs = json::array();
  for (const auto& metric : run.metrics) metrics.push_back(metric_json(metric.key, metric.last));
  for (const auto& input : run.inputs)
    inputs.push_back({{"tags", tags_json(input.tags)},
                      {"dataset",
                       {{"name", input.name},
                        {"digest", input.digest},
                        {"source_type", input.source_type},
                        {"source", input.source},
                        {"schema", input.schema},
                        {"profile", input.profile}}}});
  json result = {{"info", run_info_json(run)},
                 {"data", {{"metrics", metrics}, {"params", tags_json(run.parameters)}, {"tags", tags_json(run.tags)}}},
                 {"inputs", {{"dataset_inputs", inputs}}}};
  if (!run.cut.empty()) result["cut"] = run.cut;
  return result;
}

json version_json(const catalog::ModelVersion& version) {
  catalog::Tags tags = version.tags;
  const auto taken = [&](const char* key) {
    const auto node = tags.extract(key);
    return node ? node.mapped() : std::string();
  };
  json result = {{"name", version.model},
                 {"version", std::to_string(version.version)},
                 {"creation_timestamp", version.created_ms},
                 {"last_updated_timestamp", version.updated_ms},
                 {"user_id", version.user},
                 {"current_stage", version.stage},
                 {"description", version.description},
                 {"source", version.source},
                 {"run_id", version.run},
                 {"status", version.status},
                 {"run_link", taken(kRunLinkTag)},
                 {"aliases", version.aliases}};
  if (const std::string id = taken(kModelIdTag); !id.empty()) result["model_id"] = id;
  result["tags"] = tags_json(tags);
  return result;
}

json model_json(const catalog::RegisteredModel& model) {
  json latest = json::array(), aliases = json::array();
  for (const auto& version : model.latest) latest.push_back(version_json(version));
  for (const auto& [alias, version] : model.aliases)
    aliases.push_back({{"alias", alias}, {"version", std::to_string(version)}});
  return {{"name", model.name},
          {"creation_timestamp", model.created_ms},
          {"last_updated_timestamp", model.updated_ms},
          {"description", model.description},
          {"latest_versions", latest},
          {"tags", tags_json(with_visibility(model.tags, model.visibility))},
          {"aliases", aliases}};
}

}  // namespace linac::service::mlflow
