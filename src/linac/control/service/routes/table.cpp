#include "linac/control/service/routes/table.h"

#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "linac/control/http/routes/openapi.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/ui.h"

namespace linac::service {
namespace {

using Parts = RouteParts;
using Family = std::vector<Route> (*)(const Parts&);

constexpr Family kFamilies[] = {
    [](const Parts& p) { return system_routes(p.context); },
    [](const Parts& p) { return login_routes(p.context, p.authentication); },
    [](const Parts& p) { return user_routes(p.context, p.authentication); },
    [](const Parts& p) { return mlflow_server_routes(p.context); },
    [](const Parts& p) { return mlflow_experiment_routes(p.context); },
    [](const Parts& p) { return mlflow_run_routes(p.context); },
    [](const Parts& p) { return mlflow_logging_routes(p.context); },
    [](const Parts& p) { return mlflow_history_routes(p.context); },
    [](const Parts& p) { return mlflow_artifact_routes(p.context); },
    [](const Parts& p) { return mlflow_multipart_routes(p.context); },
    [](const Parts& p) { return mlflow_model_routes(p.context); },
    [](const Parts& p) { return mlflow_version_routes(p.context); },
    [](const Parts& p) { return mlflow_logged_model_routes(p.context); },
    [](const Parts& p) { return run_routes(p.context); },
    [](const Parts& p) { return visibility_routes(p.context); },
    [](const Parts& p) { return curve_routes(p.context); },
    [](const Parts& p) { return event_routes(p.context, p.authentication); },
    [](const Parts&) { return ui_routes(); },
    [](const Parts& p) { return job_routes(p.context, p.scheduler, p.sites); },
    [](const Parts& p) { return plan_routes(p.context, p.scheduler, p.sites, p.pilots); },
    [](const Parts& p) { return pilot_routes(p.context, p.scheduler, p.pilots); },
    [](const Parts& p) { return host_mark_routes(p.context); },
    [](const Parts& p) { return run_file_routes(p.context); },
    [](const Parts& p) { return ingest_routes(p.context); },
    [](const Parts& p) { return secret_routes(p.context, p.secrets); },
    [](const Parts& p) { return study_routes(p.context, p.desks); },
    [](const Parts& p) { return submitted_study_routes(p.context, p.desks, p.conductor, p.scheduler, p.sites); },
};

/// /openapi.json
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

}  // namespace

std::vector<Route> all_routes(const RouteParts& parts) {
  std::vector<Route> routes;
  for (const Family family : kFamilies) {
    std::vector<Route> rows = family(parts);
    std::move(rows.begin(), rows.end(), std::back_inserter(routes));
  }
  add_description(routes);
  return routes;
}

}  // namespace linac::service
