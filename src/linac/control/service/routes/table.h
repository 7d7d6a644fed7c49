#pragma once
// All routes of the service, family by family. Each function returns the table of its family; a new one is declared
// here and has its line in table.cpp. `context` and what else a family is given outlives its table.

#include <vector>

#include "linac/control/service/authentication.h"
#include "linac/control/service/context.h"
#include "linac/control/service/http_words.h"
#include "linac/control/service/secret_box.h"
#include "linac/control/service/studies/desks.h"

namespace linac::execution {
class Scheduler;
}
namespace linac::launch {
class PilotBoard;
}

namespace linac::service {

class Conductor;
class DeclaredSites;

/// What the routes speak to.
struct RouteParts {
  Context& context;
  Authentication& authentication;
  const SecretBox& secrets;
  Desks& desks;
  Conductor& conductor;
  execution::Scheduler& scheduler;
  const DeclaredSites& sites;
  launch::PilotBoard& pilots;
};

/// Those of all families, and /openapi.json, which describes them and itself.
std::vector<Route> all_routes(const RouteParts& parts);

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
std::vector<Route> study_routes(Context& context, Desks& desks);
std::vector<Route> event_routes(Context& context, Authentication& authentication);

// The queue: submitting, looking, cancelling, resuming, and the logs and folders of what runs
std::vector<Route> job_routes(Context& context, execution::Scheduler& scheduler, const DeclaredSites& sites);
/// What jobs would take, before they are queued.
std::vector<Route> plan_routes(Context& context, const execution::Scheduler& scheduler, const DeclaredSites& sites,
                               const launch::PilotBoard& pilots);
/// Studies that the queue carries out.
std::vector<Route> submitted_study_routes(Context& context, Desks& desks, Conductor& conductor,
                                          execution::Scheduler& scheduler, const DeclaredSites& sites);
/// The folder and the log of a run, to be read.
std::vector<Route> run_file_routes(Context& context);
/// By which agents take work and hand it in.
std::vector<Route> pilot_routes(Context& context, execution::Scheduler& scheduler, launch::PilotBoard& board);
/// Hosts that computed wrongly.
std::vector<Route> host_mark_routes(Context& context);
/// Runs that were made elsewhere, brought in by `linac ingest`.
std::vector<Route> ingest_routes(Context& context);

}  // namespace linac::service
