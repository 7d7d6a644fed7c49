#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/logged_models.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using catalog::KeyedPoint;
using nlohmann::json;

namespace {

constexpr const char* kNameTag = "mlflow.runName";
const FieldRule kRun{"run_id", FieldType::kText, true, "the run"};
const FieldRule kRunOptional{"run_id", FieldType::kText, false, "the run"};
const FieldRule kRunFormer{"run_uuid", FieldType::kText, false, "former name of run_id"};
const FieldRule kKey{"key", FieldType::kText, true, "its name"};
const FieldRule kValue{"value", FieldType::kText, true, "its value"};

void set_tags(Database& database, const std::string& run, catalog::Tags tags) {
  tags.erase(mlflow::kUserTag);  // set when the run is made, and true
  if (tags.empty()) return;
  catalog::set_run_tags(database, run, tags);
  if (const auto name = tags.find(kNameTag); name != tags.end() && !name->second.empty()) {
    catalog::RunChange change;
    change.name = name->second;
    catalog::update_run(database, run, change);
  }
}

/// Empty where a metric is about no logged model, as most are.
std::string model_of(const json& metric) {
  return metric.contains("model_id") ? http::text_of(metric, "model_id", "") : std::string();
}

/// Metrics that MLflow 3 logs for a model, beside the run's own.
std::vector<catalog::LoggedMetric> of_models(const std::string& run, std::span<const json> list) {
  std::vector<catalog::LoggedMetric> metrics;
  for (const json& metric : list) {
    const std::string model = model_of(metric);
    if (model.empty()) continue;
    metrics.push_back({model,
                       run,
                       {http::text_of(metric, "key"),
                        {http::integer_of(metric, "step", 0), http::integer_of(metric, "timestamp"),
                         http::number_of(metric, "value")}},
                       http::text_of(metric, "dataset_name", ""),
                       http::text_of(metric, "dataset_digest", "")});
  }
  return metrics;
}

std::vector<Thing> models_of_metrics(const Request& request) {
  std::set<std::string> models;
  for (const json& metric : request.list("metrics"))
    if (std::string model = model_of(metric); !model.empty()) models.insert(std::move(model));
  std::vector<Thing> things;
  for (const std::string& model : models) things.push_back({kLoggedModelThing, model});
  return things;
}

/// Writes points, tells those who watch, and answers {}.
Task<Response> log_points(Context& context, const Request& request, std::string run, std::span<const json> list,
                          catalog::Tags parameters, catalog::Tags tags) {
  const std::vector<KeyedPoint> points = mlflow::points(list);
  const std::vector<catalog::LoggedMetric> models = of_models(run, list);
  co_await writing(
      context,
      [&](Database& database) {
        if (!parameters.empty()) catalog::set_parameters(database, run, parameters);
        set_tags(database, run, tags);
        if (!points.empty()) catalog::append_points(database, run, points, catalog::Repeated::kOnce);
        if (!models.empty()) catalog::add_logged_metrics(database, models);
        if (points.empty() && parameters.empty() && tags.empty())
          catalog::run(database, run);  // whether there is such a run
      },
      who_asks(request));
  context.points_total += static_cast<int64_t>(points.size());
  context.hub.publish_points(run, points);
  Response done;
  done.body = "{}";
  co_return done;
}

Handler log_metric(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const catalog::Tags none;
    const std::span<const json> one(request.input.get(), 1);
    co_return co_await log_points(context, request, mlflow::run_id(request), one, none, none);
  };
}

Handler log_batch(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const json &metrics = request.list("metrics"), &parameters = request.list("params"), &tags = request.list("tags");
    const auto limit = [](const char* what, size_t count, size_t most) {
      if (count > most)
        throw Refusal(RefusalKind::kInvalid,
                      fmt::format("[runs] a batch of {} {} (at most {}); send several batches", count, what, most));
    };
    limit("metrics", metrics.size(), mlflow::kMetricsMax);
    limit("params", parameters.size(), mlflow::kParametersMax);
    limit("tags", tags.size(), mlflow::kTagsMax);
    limit("metrics, params and tags", metrics.size() + parameters.size() + tags.size(), mlflow::kEntitiesMax);
    const catalog::Tags set = mlflow::parameters(parameters), tagged = mlflow::tags(tags, mlflow::kTagBytesMax);
    co_return co_await log_points(context, request, request.text("run_id"), metrics.get_ref<const json::array_t&>(),
                                  set, tagged);
  };
}

json log_parameter(Database& database, Request& request) {
  const json list = json::array({*request.input});
  catalog::set_parameters(database, mlflow::run_id(request), mlflow::tags(list, mlflow::kParameterBytesMax));
  return json::object();
}

json set_tag(Database& database, Request& request) {
  const json list = json::array({*request.input});
  set_tags(database, mlflow::run_id(request), mlflow::tags(list, mlflow::kTagBytesMax));
  return json::object();
}

json log_inputs(Database& database, Request& request) {
  std::vector<catalog::DataSet> inputs;
  for (const json& input : request.list("datasets")) {
    const auto found = input.find("dataset");
    if (found == input.end() || !found->is_object())
      throw Refusal(RefusalKind::kInvalid, "[runs] an entry of 'datasets' has no 'dataset'; send {tags, dataset}");
    const auto tags = input.find("tags");
    inputs.push_back({http::text_of(*found, "name"), http::text_of(*found, "digest"),
                      http::text_of(*found, "source_type", ""), http::text_of(*found, "source", ""),
                      http::text_of(*found, "schema", ""), http::text_of(*found, "profile", ""),
                      tags == input.end() ? catalog::Tags() : mlflow::tags(*tags, 500)});
  }
  const std::string run = request.text("run_id");
  if (inputs.empty()) catalog::run(database, run);
  catalog::add_inputs(database, run, inputs);
  for (const json& model : request.list("models"))
    catalog::link_model(database, run, {http::text_of(model, "model_id"), false, 0});
  return json::object();
}

json log_outputs(Database& database, Request& request) {
  const std::string run = request.text("run_id");
  catalog::run(database, run);
  for (const json& model : request.list("models"))
    catalog::link_model(database, run, {http::text_of(model, "model_id"), true, http::integer_of(model, "step", 0)});
  return json::object();
}

/// The tag in which MLflow collects what models a run logged (mlflow.log-model.history).
json log_model(Database& database, Request& request) {
  constexpr const char* kHistory = "mlflow.log-model.history";
  const std::string id = request.text("run_id");
  const catalog::Run run = catalog::run(database, id);
  const auto former = run.tags.find(kHistory);
  json history = former == run.tags.end() ? json::array() : json::parse(former->second, nullptr, false);
  if (!history.is_array()) history = json::array();
  history.push_back(*http::parse_object(request.text("model_json")));
  catalog::set_run_tags(database, id, {{kHistory, history.dump(-1, ' ', false, json::error_handler_t::replace)}});
  return json::object();
}

}  // namespace

std::vector<Route> mlflow_logging_routes(Context& context) {
  using enum Method;
  using mlflow::route;
  const auto of_run = [](const Request& request) { return std::vector<Thing>{{kRunThing, mlflow::run_id(request)}}; };
  const Permission recorded(Access::kMember, Changes::recorded(of_run));
  const Permission with_model(Access::kMember,
                              Changes::recorded(both(of_run, by_field(kLoggedModelThing, "model_id"))));
  const Permission with_models(Access::kMember, Changes::recorded(both(of_run, models_of_metrics)));
  std::vector<Route> routes = {
      route(kPost, "runs/log-metric", "log_metric", "A point of a metric", with_model,
            {kRunOptional,
             kRunFormer,
             kKey,
             {"value", FieldType::kNumber, true, "also NaN and infinities"},
             {"timestamp", FieldType::kInteger, true, "milliseconds since 1970"},
             {"step", FieldType::kInteger, false, "0 if none is given"},
             {"model_id", FieldType::kText, false, "the logged model that it is about"},
             {"dataset_name", FieldType::kText, false, "what it was measured on"},
             {"dataset_digest", FieldType::kText, false, "what it was measured on"}},
            log_metric(context)),
      route(kPost, "runs/log-batch", "log_batch", "Metrics, parameters and tags at once, all or none", with_models,
            {kRun,
             {"metrics", FieldType::kObjects, false, "{key, value, timestamp, step}, at most 1000"},
             {"params", FieldType::kObjects, false, "{key, value}, at most 100"},
             {"tags", FieldType::kObjects, false, "{key, value}, at most 100"}},
            log_batch(context)),
      route(kPost, "runs/log-parameter", "log_parameter", "A parameter, which never changes", recorded,
            {kRunOptional, kRunFormer, kKey, kValue}, writes(context, log_parameter)),
      route(kPost, "runs/set-tag", "set_tag", "Sets a tag of a run", recorded, {kRunOptional, kRunFormer, kKey, kValue},
            writes(context, set_tag)),
      route(kPost, "runs/delete-tag", "delete_tag", "Removes a tag of a run", recorded, {kRun, kKey},
            writes(context,
                   [](Database& database, Request& request) -> json {
                     catalog::delete_run_tag(database, request.text("run_id"), request.text("key"));
                     return json::object();
                   })),
      route(kPost, "runs/log-inputs", "log_inputs", "Data sets and models that a run used", recorded,
            {kRun,
             {"datasets", FieldType::kObjects, false, "{tags, dataset}"},
             {"models", FieldType::kObjects, false, "{model_id}"}},
            writes(context, log_inputs)),
      route(kPost, "runs/outputs", "log_outputs", "Models that a run made", recorded,
            {kRun, {"models", FieldType::kObjects, false, "{model_id, step}"}}, writes(context, log_outputs)),
      route(kPost, "runs/log-model", "log_model", "The description of a model among a run's artefacts", recorded,
            {kRun, {"model_json", FieldType::kText, true, "the model's MLmodel as JSON"}}, writes(context, log_model)),
  };
  for (Route& route : routes)
    if (route.name == "mlflow_log_inputs") route.body_bytes_max = 32 << 20;  // a profile may have 16 MB
  return routes;
}

}  // namespace linac::service
