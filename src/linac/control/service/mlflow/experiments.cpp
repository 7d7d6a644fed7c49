#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr int64_t kExperimentsMax = 50000, kExperimentsDefault = 1000;
constexpr size_t kTagBytesMax = 20000;

const FieldRule kId{"experiment_id", FieldType::kText, true, "the experiment"};

int64_t id_of(const Request& request) {
  return mlflow::experiment_id(request.text("experiment_id"));
}

json created(Database& database, Request& request, const Context& context) {
  const std::string name = request.text("name"), location = request.text("artifact_location");
  catalog::check_artifact_location(location);
  catalog::check_store(location, context.stores);
  catalog::refuse_hidden_experiment_name(database, viewer_of(request), name);
  const int64_t id =
      catalog::create_experiment(database, name, location, mlflow::tags(request.list("tags"), kTagBytesMax),
                                 request.caller.user, context.visibility);
  request.things = {{kExperimentThing, std::to_string(id)}};
  return {{"experiment_id", std::to_string(id)}};
}

json by_name(Database& database, Request& request) {
  const std::string name = request.text("experiment_name");
  const auto experiment = catalog::experiment_by_name(database, viewer_of(request), name);
  if (!experiment)
    throw Refusal(RefusalKind::kNotFound, "[experiments] Could not find experiment with name '" + name + "'");
  return {{"experiment", mlflow::experiment_json(*experiment)}};
}

json searched(Database& database, Request& request) {
  const auto page = catalog::search_experiments(database, viewer_of(request), request.text("filter"),
                                                request.texts("order_by"), mlflow::view(request, "view_type"),
                                                mlflow::page_size(request, kExperimentsDefault, kExperimentsMax),
                                                request.text("page_token"));
  json experiments = json::array();
  for (const auto& experiment : page.items) experiments.push_back(mlflow::experiment_json(experiment));
  json answer = {{"experiments", std::move(experiments)}};
  if (!page.next.empty()) answer["next_page_token"] = page.next;
  return answer;
}

const std::vector<FieldRule> kSearch = {{"max_results", FieldType::kInteger, false, "of a page"},
                                        {"page_token", FieldType::kText, false, "of the page before"},
                                        {"filter", FieldType::kText, false, "e.g. name LIKE '3dgan%'"},
                                        {"order_by", FieldType::kTexts, false, "e.g. creation_time DESC"},
                                        {"view_type", FieldType::kText, false, "ACTIVE_ONLY, DELETED_ONLY or ALL"}};

}  // namespace

std::vector<Route> mlflow_experiment_routes(Context& context) {
  using enum Method;
  using mlflow::route;
  const FieldRule key{"key", FieldType::kText, true, "of the tag"};
  const Permission own(Access::kMember, Changes::of(by_field(kExperimentThing, "experiment_id")));
  return {
      route(kPost, "experiments/create", "create_experiment", "A new experiment",
            Permission(Access::kMember, Changes::made(), Reads::nothing()),
            {{"name", FieldType::kText, true, "not taken yet"},
             {"artifact_location", FieldType::kText, false, "URL of the artefacts; none: this service keeps them"},
             {"tags", FieldType::kObjects, false, "{key, value}"}},
            writes(context,
                   [&context](Database& database, Request& request) { return created(database, request, context); })),
      route(kGet, "experiments/get", "get_experiment", "An experiment by its id",
            mlflow::shows(by_field(kExperimentThing, "experiment_id")), {kId},
            reads(context,
                  [](Database& database, Request& request) -> json {
                    return {{"experiment", mlflow::experiment_json(catalog::experiment(database, id_of(request)))}};
                  })),
      route(kGet, "experiments/get-by-name", "get_experiment_by_name", "An experiment by its name", mlflow::finds(),
            {{"experiment_name", FieldType::kText, true, "its name"}}, reads(context, by_name)),
      route(kPost, "experiments/search", "search_experiments", "Experiments that a filter names", mlflow::finds(),
            kSearch, reads(context, searched)),
      route(kGet, "experiments/search", "list_experiments", "The same by GET", mlflow::finds(), kSearch,
            reads(context, searched)),
      route(kPost, "experiments/delete", "delete_experiment", "Marks an experiment as deleted", own, {kId},
            writes(context,
                   [](Database& database, Request& request) -> json {
                     catalog::set_experiment_deleted(database, id_of(request), true);
                     return json::object();
                   })),
      route(kPost, "experiments/restore", "restore_experiment", "Takes that back", own, {kId},
            writes(context,
                   [](Database& database, Request& request) -> json {
                     catalog::set_experiment_deleted(database, id_of(request), false);
                     return json::object();
                   })),
      route(kPost, "experiments/update", "update_experiment", "Another name for an experiment", own,
            {kId, {"new_name", FieldType::kText, true, "not taken yet"}},
            writes(context,
                   [](Database& database, Request& request) -> json {
                     catalog::refuse_hidden_experiment_name(database, viewer_of(request), request.text("new_name"));
                     catalog::rename_experiment(database, id_of(request), request.text("new_name"));
                     return json::object();
                   })),
      route(kPost, "experiments/set-experiment-tag", "set_experiment_tag", "Sets a tag of an experiment", own,
            {kId, key, {"value", FieldType::kText, true, "of the tag"}},
            withdrawing(context, writes(context,
                                        [](Database& database, Request& request) -> json {
                                          catalog::set_experiment_tag(database, id_of(request), request.text("key"),
                                                                      request.text("value"));
                                          return json::object();
                                        }))),
      route(kPost, "experiments/delete-experiment-tag", "delete_experiment_tag", "Removes a tag of an experiment", own,
            {kId, key},
            withdrawing(context, writes(context,
                                        [](Database& database, Request& request) -> json {
                                          catalog::delete_experiment_tag(database, id_of(request), request.text("key"));
                                          return json::object();
                                        }))),
  };
}

}  // namespace linac::service
