#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/control/catalog/logged_models.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/service/artifact_files.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

const std::string& id_of(const Request& request) {
  return request.variable("model_id");
}

json model_json(const catalog::LoggedModel& model) {
  json metrics = json::array();
  for (const auto& metric : model.metrics) {
    json one = mlflow::metric_json(metric.point.key, metric.point.point);
    one["model_id"] = metric.model;
    one["run_id"] = metric.run;
    if (!metric.data_set.empty()) one["dataset_name"] = metric.data_set;
    if (!metric.digest.empty()) one["dataset_digest"] = metric.digest;
    metrics.push_back(std::move(one));
  }
  return {{"info",
           {{"model_id", model.id},
            {"experiment_id", std::to_string(model.experiment)},
            {"name", model.name},
            {"creation_timestamp_ms", model.created_ms},
            {"last_updated_timestamp_ms", model.updated_ms},
            {"artifact_uri", model.artifact_uri},
            {"status", model.status},
            {"model_type", model.type},
            {"source_run_id", model.run},
            {"tags", mlflow::tags_json(model.tags)}}},
          {"data", {{"params", mlflow::tags_json(model.parameters)}, {"metrics", std::move(metrics)}}}};
}

json answer_of(const catalog::LoggedModel& model) {
  return {{"model", model_json(model)}};
}

json created(Database& database, Request& request) {
  const catalog::LoggedModel made =
      catalog::create_logged_model(database, {.experiment = mlflow::experiment_id(request.text("experiment_id")),
                                              .name = request.text("name"),
                                              .type = request.text("model_type"),
                                              .run = request.text("source_run_id"),
                                              .user = request.caller.user,
                                              .parameters = mlflow::parameters(request.list("params")),
                                              .tags = mlflow::tags(request.list("tags"), mlflow::kTagBytesMax)});
  request.things = {{kLoggedModelThing, made.id}};
  return answer_of(made);
}

json finalized(Database& database, Request& request) {
  const std::string status = request.text("status");
  if (status != "LOGGED_MODEL_READY" && status != "LOGGED_MODEL_UPLOAD_FAILED" && status != "LOGGED_MODEL_PENDING")
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[models] '{}' is no status (wanted: LOGGED_MODEL_READY, LOGGED_MODEL_PENDING or "
                              "LOGGED_MODEL_UPLOAD_FAILED)",
                              printable(status)));
  catalog::set_logged_model_status(database, id_of(request), status);
  return answer_of(catalog::logged_model(database, id_of(request)));
}

json searched(Database& database, Request& request) {
  std::vector<int64_t> experiments;
  for (const auto& id : request.texts("experiment_ids")) experiments.push_back(mlflow::experiment_id(id));
  std::vector<std::string> order;
  for (const json& by : request.list("order_by"))
    order.push_back(http::text_of(by, "field_name") + (http::flag_of(by, "ascending", true) ? " ASC" : " DESC"));
  const auto page =
      catalog::search_logged_models(database, viewer_of(request), experiments, request.text("filter"), order,
                                    mlflow::page_size(request, 100, 1000), request.text("page_token"));
  json models = json::array();
  for (const auto& model : page.items) models.push_back(model_json(model));
  json answer = {{"models", std::move(models)}};
  if (!page.next.empty()) answer["next_page_token"] = page.next;
  return answer;
}

Handler listed(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string root = co_await reading(context, [&](Database& database) {
      return catalog::logged_model(database, id_of(request), true).artifact_uri;
    });
    json answer;
    co_await aside(
        context, [&] { answer = listed_artifacts(context.artifacts, root, request.text("artifact_directory_path")); });
    co_return Response::json(answer);
  };
}

}  // namespace

std::vector<Route> mlflow_logged_model_routes(Context& context) {
  using enum Method;
  using mlflow::route;
  const Permission own(Access::kMember, Changes::of(by_variable(kLoggedModelThing, "model_id")));
  const Permission shown = mlflow::shows(by_variable(kLoggedModelThing, "model_id"));
  const FieldRule parameters{"params", FieldType::kObjects, false, "{key, value}"};
  const FieldRule tags{"tags", FieldType::kObjects, false, "{key, value}"};
  const auto change = [&](auto work) {
    return writes(context, [work](Database& database, Request& request) -> json {
      work(database, request);
      return json::object();
    });
  };
  return {
      route(kPost, "logged-models", "create_logged_model", "A model that a run logs",
            Permission(Access::kMember, Changes::made(by_field(kRunThing, "source_run_id")),
                       Reads::of(by_field(kExperimentThing, "experiment_id"))),
            {{"experiment_id", FieldType::kText, true, "the experiment"},
             {"name", FieldType::kText, false, "none: one is made"},
             {"model_type", FieldType::kText, false, "any word"},
             {"source_run_id", FieldType::kText, false, "the run that makes it"},
             parameters,
             tags},
            writes(context, created)),
      route(kPost, "logged-models/search", "search_logged_models", "Logged models that a filter finds", mlflow::finds(),
            {{"experiment_ids", FieldType::kTexts, false, "where to search"},
             {"filter", FieldType::kText, false, "e.g. metrics.auc > 0.9"},
             {"datasets", FieldType::kObjects, false, "not used: metrics on all data sets count"},
             {"max_results", FieldType::kInteger, false, "of a page, at most 1000"},
             {"order_by", FieldType::kObjects, false, "{field_name, ascending}"},
             {"page_token", FieldType::kText, false, "of the page before"}},
            reads(context, searched)),
      route(kGet, "logged-models/{model_id}", "get_logged_model", "A logged model", shown,
            {{"allow_deleted", FieldType::kBoolean, false, "also one that was deleted"}},
            reads(context,
                  [](Database& database, Request& request) {
                    return answer_of(catalog::logged_model(database, id_of(request), request.flag("allow_deleted")));
                  })),
      route(kPatch, "logged-models/{model_id}", "finalize_logged_model",
            "Says that its files are complete, or never will be", own,
            {{"status", FieldType::kText, true, "LOGGED_MODEL_READY or LOGGED_MODEL_UPLOAD_FAILED"}},
            writes(context, finalized)),
      route(kDelete, "logged-models/{model_id}", "delete_logged_model", "Marks it as deleted", own, {},
            change([](Database& database, Request& request) {
              catalog::set_logged_model_deleted(database, id_of(request));
            })),
      route(kPatch, "logged-models/{model_id}/tags", "set_logged_model_tags", "Sets tags", own, {tags},
            writes(context,
                   [](Database& database, Request& request) {
                     catalog::set_logged_model_tags(database, id_of(request),
                                                    mlflow::tags(request.list("tags"), mlflow::kTagBytesMax));
                     return answer_of(catalog::logged_model(database, id_of(request)));
                   })),
      route(kDelete, "logged-models/{model_id}/tags/{key}", "delete_logged_model_tag", "Removes a tag", own, {},
            change([](Database& database, Request& request) {
              catalog::delete_logged_model_tag(database, id_of(request), request.variable("key"));
            })),
      route(kPost, "logged-models/{model_id}/params", "add_logged_model_parameters", "Parameters, which never change",
            own, {parameters}, change([](Database& database, Request& request) {
              catalog::add_logged_model_parameters(database, id_of(request),
                                                   mlflow::parameters(request.list("params")));
            })),
      route(kGet, "logged-models/{model_id}/artifacts/directories", "list_logged_model_artifacts", "Its files", shown,
            {{"artifact_directory_path", FieldType::kText, false, "folder within them"},
             {"page_token", FieldType::kText, false, "not needed: all come at once"}},
            listed(context)),
  };
}

}  // namespace linac::service
