#include "linac/control/service/routes/table.h"

#include <iterator>
#include <nlohmann/json.hpp>

#include "linac/control/http/routes/openapi.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/ui.h"

namespace linac::service {

std::vector<Route> all_routes(Context& context, Authentication& authentication) {
  std::vector<Route> routes;
  const auto add = [&](std::vector<Route> family) {
    std::move(family.begin(), family.end(), std::back_inserter(routes));
  };
  add(system_routes(context));
  add(login_routes(context, authentication));
  add(user_routes(context, authentication));
  add(mlflow_server_routes(context));
  add(mlflow_experiment_routes(context));
  add(mlflow_run_routes(context));
  add(mlflow_logging_routes(context));
  add(mlflow_history_routes(context));
  add(mlflow_artifact_routes(context));
  add(mlflow_multipart_routes(context));
  add(mlflow_model_routes(context));
  add(mlflow_version_routes(context));
  add(mlflow_logged_model_routes(context));
  add(run_routes(context));
  add(visibility_routes(context));
  add(curve_routes(context));
  add(event_routes(context));
  add(ui_routes());
  return routes;
}

void add_description(std::vector<Route>& routes) {
  Route route;
  route.pattern = "/openapi.json";
  route.name = "openapi";
  route.summary = "This description";
  route.access = Access::kOpen;
  route.reads = http::Reads::nothing();
  routes.push_back(std::move(route));
  const std::string text = http::openapi(routes).dump();
  routes.back().handler = answers([text](Request&) { return Response::text(text, "application/json"); });
}

}  // namespace linac::service
