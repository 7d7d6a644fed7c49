#include "linac/control/service/routes/native_words.h"

#include <nlohmann/json.hpp>

#include "linac/control/http/routes/json_fields.h"

namespace linac::service {

using nlohmann::json;

json native_run(const catalog::Run& run) {
  json metrics = json::object();
  for (const auto& metric : run.metrics)
    metrics[metric.key] = {{"last", http::number_json(metric.last.value)},
                           {"step", metric.last.step},
                           {"time_ms", metric.last.time_ms},
                           {"count", metric.count},
                           {"min", http::number_json(metric.min)},
                           {"max", http::number_json(metric.max)}};
  json result = {{"id", run.id},
                 {"experiment", run.experiment},
                 {"name", run.name},
                 {"user", run.user},
                 {"state", catalog::to_string(run.state)},
                 {"reason", run.reason},
                 {"deleted", run.deleted},
                 {"created_ms", run.created_ms},
                 {"started_ms", run.started_ms},
                 {"ended_ms", run.ended_ms},
                 {"artifact_uri", run.artifact_uri},
                 {"parameters", run.parameters},
                 {"tags", run.tags},
                 {"metrics", std::move(metrics)}};
  if (!run.cut.empty()) result["cut"] = run.cut;
  return result;
}

json native_inputs(const catalog::Run& run) {
  json inputs = json::array();
  for (const auto& input : run.inputs)
    inputs.push_back({{"name", input.name},
                      {"digest", input.digest},
                      {"source_type", input.source_type},
                      {"source", input.source},
                      {"schema", input.schema},
                      {"profile", input.profile},
                      {"tags", input.tags}});
  return inputs;
}

json native_transitions(const std::vector<catalog::Transition>& transitions) {
  json list = json::array();
  for (const auto& transition : transitions)
    list.push_back({{"time_ms", transition.time_ms},
                    {"from", transition.from ? json(catalog::to_string(*transition.from)) : json()},
                    {"to", catalog::to_string(transition.to)},
                    {"reason", transition.reason}});
  return list;
}

json native_experiment(const catalog::Experiment& experiment) {
  return {{"id", experiment.id},
          {"name", experiment.name},
          {"user", experiment.user},
          {"visibility", catalog::to_string(experiment.visibility)},
          {"deleted", experiment.deleted},
          {"created_ms", experiment.created_ms},
          {"updated_ms", experiment.updated_ms},
          {"tags", experiment.tags}};
}

json native_version(const catalog::ModelVersion& version) {
  return {{"model", version.model}, {"version", version.version},         {"source", version.source},
          {"run", version.run},     {"description", version.description}, {"user", version.user},
          {"stage", version.stage}, {"status", version.status},           {"created_ms", version.created_ms},
          {"tags", version.tags},   {"aliases", version.aliases},         {"updated_ms", version.updated_ms}};
}

json native_model(const catalog::RegisteredModel& model) {
  json latest = json::array();
  for (const auto& version : model.latest) latest.push_back(native_version(version));
  return {{"name", model.name},
          {"description", model.description},
          {"user", model.user},
          {"visibility", catalog::to_string(model.visibility)},
          {"created_ms", model.created_ms},
          {"updated_ms", model.updated_ms},
          {"tags", model.tags},
          {"aliases", model.aliases},
          {"latest", std::move(latest)}};
}

json native_stretch(const catalog::Stretch& stretch) {
  return {stretch.first_step,
          stretch.last_step,
          stretch.time_ms,
          stretch.count,
          stretch.not_finite,
          http::number_json(stretch.min),
          http::number_json(stretch.max),
          http::number_json(stretch.last)};
}

}  // namespace linac::service
