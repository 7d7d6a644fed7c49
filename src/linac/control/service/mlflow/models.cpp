#include <algorithm>
#include <nlohmann/json.hpp>

#include "linac/control/catalog/models.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr size_t kTagBytesMax = 65000;
const FieldRule kName{"name", FieldType::kText, true, "the model's"};
const FieldRule kKey{"key", FieldType::kText, true, "of the tag"};

json answer_of(const catalog::RegisteredModel& model) {
  return {{"registered_model", mlflow::model_json(model)}};
}

std::string name_of(const Request& request) {
  return request.text("name");
}

int64_t number_of(const Request& request) {
  return request.integer("version");
}

json searched(Database& database, Request& request) {
  const auto page =
      catalog::search_models(database, viewer_of(request), mlflow::model_filter(request), request.texts("order_by"),
                             mlflow::page_size(request, 100, 1000), request.text("page_token"));
  json models = json::array();
  for (const auto& model : page.items) models.push_back(mlflow::model_json(model));
  json answer = {{"registered_models", std::move(models)}};
  if (!page.next.empty()) answer["next_page_token"] = page.next;
  return answer;
}

json latest(Database& database, Request& request) {
  const auto stages = request.texts("stages");
  json versions = json::array();
  for (const auto& version : catalog::model(database, name_of(request)).latest)
    if (stages.empty() || std::find(stages.begin(), stages.end(), version.stage) != stages.end())
      versions.push_back(mlflow::version_json(version));
  return {{"model_versions", std::move(versions)}};
}

}  // namespace

std::vector<Route> mlflow_model_routes(Context& context) {
  using enum Method;
  using mlflow::route;
  const Permission own(Access::kMember, Changes::of(by_field(kModelThing, "name")));
  const Permission shown = mlflow::shows(by_field(kModelThing, "name"));
  const FieldRule description{"description", FieldType::kText, false, "in Markdown"};
  const FieldRule alias{"alias", FieldType::kText, true, "a name for one version"};
  const std::vector<FieldRule> search = {{"filter", FieldType::kText, false, "e.g. name LIKE 'calo%'"},
                                         {"max_results", FieldType::kInteger, false, "of a page, at most 1000"},
                                         {"order_by", FieldType::kTexts, false, "e.g. name ASC"},
                                         {"page_token", FieldType::kText, false, "of the page before"}};
  const std::vector<FieldRule> of_stages = {kName, {"stages", FieldType::kTexts, false, "none: all"}};
  const auto change = [&](auto work) {
    return writes(context, [work](Database& database, Request& request) -> json {
      work(database, request);
      return json::object();
    });
  };
  return {
      route(kPost, "registered-models/create", "create_registered_model", "A new name for models",
            Permission(Access::kMember, Changes::made(), Reads::nothing()),
            {kName, {"tags", FieldType::kObjects, false, "{key, value}"}, description},
            writes(context,
                   [&context](Database& database, Request& request) {
                     request.things = {{kModelThing, name_of(request)}};
                     catalog::refuse_hidden_model_name(database, viewer_of(request), name_of(request));
                     return answer_of(catalog::create_model(database, name_of(request), request.text("description"),
                                                            mlflow::tags(request.list("tags"), kTagBytesMax),
                                                            request.caller.user, context.visibility));
                   })),
      route(kPost, "registered-models/rename", "rename_registered_model", "Another name", own,
            {kName, {"new_name", FieldType::kText, true, "not taken yet"}},
            writes(context,
                   [](Database& database, Request& request) {
                     catalog::refuse_hidden_model_name(database, viewer_of(request), request.text("new_name"));
                     catalog::rename_model(database, name_of(request), request.text("new_name"));
                     return answer_of(catalog::model(database, request.text("new_name")));
                   })),
      route(kPatch, "registered-models/update", "update_registered_model", "Another description", own,
            {kName, description},
            writes(context,
                   [](Database& database, Request& request) {
                     catalog::describe_model(database, name_of(request), request.text("description"));
                     return answer_of(catalog::model(database, name_of(request)));
                   })),
      route(kDelete, "registered-models/delete", "delete_registered_model", "Forgets a name and its versions", own,
            {kName},
            change([](Database& database, Request& request) { catalog::delete_model(database, name_of(request)); })),
      route(kGet, "registered-models/get", "get_registered_model", "A name with its latest versions", shown, {kName},
            reads(context, [](Database& database,
                              Request& request) { return answer_of(catalog::model(database, name_of(request))); })),
      route(kGet, "registered-models/search", "search_registered_models", "Names that a filter finds", mlflow::finds(),
            search, reads(context, searched)),
      route(kPost, "registered-models/get-latest-versions", "get_latest_versions", "The latest version of each stage",
            shown, of_stages, reads(context, latest)),
      route(kGet, "registered-models/get-latest-versions", "list_latest_versions", "The same by GET", shown, of_stages,
            reads(context, latest)),
      route(kPost, "registered-models/set-tag", "set_registered_model_tag", "Sets a tag", own,
            {kName, kKey, {"value", FieldType::kText, true, "of the tag"}},
            change([](Database& database, Request& request) {
              catalog::set_model_tag(database, name_of(request), request.text("key"), request.text("value"));
            })),
      route(kDelete, "registered-models/delete-tag", "delete_registered_model_tag", "Removes a tag", own, {kName, kKey},
            change([](Database& database, Request& request) {
              catalog::delete_model_tag(database, name_of(request), request.text("key"));
            })),
      route(kPost, "registered-models/alias", "set_alias", "Lets an alias mean a version", own,
            {kName, alias, {"version", FieldType::kInteger, true, "its number"}},
            change([](Database& database, Request& request) {
              catalog::set_alias(database, name_of(request), request.text("alias"), number_of(request));
            })),
      route(kDelete, "registered-models/alias", "delete_alias", "Removes an alias", own, {kName, alias},
            change([](Database& database, Request& request) {
              catalog::delete_alias(database, name_of(request), request.text("alias"));
            })),
      route(kGet, "registered-models/alias", "get_version_by_alias", "The version that an alias means", shown,
            {kName, alias},
            reads(context,
                  [](Database& database, Request& request) -> json {
                    return {{"model_version", mlflow::version_json(catalog::version_by_alias(database, name_of(request),
                                                                                             request.text("alias")))}};
                  })),
  };
}

}  // namespace linac::service
