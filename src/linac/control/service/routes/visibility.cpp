// Who may read an experiment, or a model: its owner says. MLflow's clients say it by the tag linac.visibility.

#include <nlohmann/json.hpp>

#include "linac/control/catalog/models.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/native_words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

json changed_experiment(Database& database, Request& request) {
  const int64_t id = mlflow::experiment_id(request.variable("id"));
  catalog::set_experiment_visibility(database, id, catalog::visibility(request.text("visibility")));
  return native_experiment(catalog::experiment(database, id));
}

json changed_model(Database& database, Request& request) {
  const std::string& name = request.variable("name");
  catalog::set_model_visibility(database, name, catalog::visibility(request.text("visibility")));
  return native_model(catalog::model(database, name));
}

}  // namespace

Handler withdrawing(Context& context, Handler handler) {
  return [&context, handler = std::move(handler)](Request& request) -> Task<Response> {
    Response response = co_await handler(request);
    context.hub.withdraw([](const Pass& pass) { return pass.of_another; });
    co_return std::move(response);
  };
}

std::vector<Route> visibility_routes(Context& context) {
  const auto patch = [](const char* pattern, const char* name, const char* summary, Changes changes, Handler handler) {
    return changing(std::move(changes), {Method::kPatch,
                                         pattern,
                                         name,
                                         summary,
                                         Access::kMember,
                                         BodyKind::kJson,
                                         {{"visibility", FieldType::kText, true, "private or shared"}},
                                         std::move(handler)});
  };
  return {
      patch("/api/v1/experiments/{id}", "change_experiment", "Who may read an experiment and its runs",
            Changes::of(by_variable(kExperimentThing, "id")),
            withdrawing(context, writes(context, changed_experiment))),
      patch("/api/v1/models/{name}", "change_model", "Who may read a registered model and the files of its versions",
            Changes::of(by_variable(kModelThing, "name")), writes(context, changed_model))};
}

}  // namespace linac::service
