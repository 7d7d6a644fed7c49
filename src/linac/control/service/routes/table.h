#pragma once
// All routes of the service, family by family. Each function returns the table of its family; `context` and what else
// it is given outlives the tables.

#include <vector>

#include "linac/control/service/authentication.h"
#include "linac/control/service/context.h"
#include "linac/control/service/http_words.h"
#include "linac/control/service/secret_box.h"
#include "linac/control/service/studies/desks.h"

namespace linac::service {

std::vector<Route> all_routes(Context& context, Authentication& authentication);
/// Adds /openapi.json, which describes all of `routes` and itself.
void add_description(std::vector<Route>& routes);

std::vector<Route> system_routes(Context& context);
std::vector<Route> login_routes(Context& context, Authentication& authentication);
std::vector<Route> user_routes(Context& context, Authentication& authentication);
std::vector<Route> secret_routes(Context& context, const SecretBox& box);

// MLflow's REST API
std::vector<Route> mlflow_server_routes(Context& context);
std::vector<Route> mlflow_experiment_routes(Context& context);
std::vector<Route> mlflow_run_routes(Context& context);
std::vector<Route> mlflow_logging_routes(Context& context);
std::vector<Route> mlflow_history_routes(Context& context);
std::vector<Route> mlflow_artifact_routes(Context& context);
std::vector<Route> mlflow_multipart_routes(Context& context);
std::vector<Route> mlflow_model_routes(Context& context);
std::vector<Route> mlflow_version_routes(Context& context);
std::vector<Route> mlflow_logged_model_routes(Context& context);

// linac's own
std::vector<Route> run_routes(Context& context);
std::vector<Route> visibility_routes(Context& context);
/// `handler`, which may take an experiment from others' eyes: who watches another's run is then asked anew.
Handler withdrawing(Context& context, Handler handler);
std::vector<Route> curve_routes(Context& context);
/// `desks` outlive them.
std::vector<Route> study_routes(Context& context, Desks& desks);
std::vector<Route> event_routes(Context& context);

}  // namespace linac::service
