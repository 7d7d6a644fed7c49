#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/control/service/handlers.h"
#include "linac/control/service/health.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

// The state of MLflow's API that this one follows; clients ask before they use what is newer.
constexpr const char* kMlflowVersion = "3.17.2";

Handler ready(Context& context) {
  const auto health = std::make_shared<Health>(context);
  return [&context, health](Request&) -> Task<Response> {
    const std::string trouble = co_await health->trouble();
    if (!trouble.empty()) co_return Response::text("not ready: " + trouble + "\n", "text/plain; charset=utf-8", 503);
    if (context.traffic.stopping) co_return Response::text("stopping\n", "text/plain; charset=utf-8", 503);
    co_return Response::text("ready\n");
  };
}

Handler metrics(Context& context) {
  return [&context](Request&) -> Task<Response> {
    std::string text = context.traffic.text();
    text += http::prometheus_line("linac_logins_failed_total", "counter", "Requests with a token that is not right.",
                                  context.failed_logins_total);
    text += http::prometheus_line("linac_points_total", "counter", "Points of metrics taken.", context.points_total);
    text += fmt::format(
        "# HELP linac_watchers Clients that watch runs.\n# TYPE linac_watchers gauge\nlinac_watchers {}\n"
        "# HELP linac_runs Runs by state.\n# TYPE linac_runs gauge\n",
        context.hub.subscribers());
    const std::string states = co_await reading(context, [](Database& database) {
      std::string lines;
      for (const auto& row :
           database.query("SELECT state, COUNT(*) FROM runs WHERE deleted = 0 GROUP BY state ORDER BY state"))
        lines += fmt::format("linac_runs{{state=\"{}\"}} {}\n", row.text(0), row.integer(1));
      return lines;
    });
    text += states;
    co_return Response::text(std::move(text), "text/plain; version=0.0.4; charset=utf-8");
  };
}

Route get(const char* pattern, const char* name, const char* summary, Access access, const char* type,
          Handler handler) {
  Route route;
  route.pattern = pattern;
  route.name = name;
  route.summary = summary;
  route.reads = http::Reads::nothing();
  route.access = access;
  route.response_type = type;
  route.handler = std::move(handler);
  return route;
}

}  // namespace

std::vector<Route> system_routes(Context& context) {
  constexpr const char* kText = "text/plain";
  return {
      get("/healthz", "healthz", "Whether the process answers", Access::kOpen, kText,
          answers([](Request&) { return Response::text("ok\n"); })),
      get("/readyz", "readyz", "Whether what is sent can be kept: the catalog is sound and written, the disk has room",
          Access::kOpen, kText, ready(context)),
      get("/metrics", "metrics", "Counts for Prometheus", Access::kViewer, kText, metrics(context)),
  };
}

std::vector<Route> mlflow_server_routes(Context&) {
  return {
      get("/version", "mlflow_version", "The version of MLflow whose API this is", Access::kOpen, "text/plain",
          answers([](Request&) { return Response::text(kMlflowVersion); })),
      get("/health", "mlflow_health", "As /healthz, where MLflow has it", Access::kOpen, "text/plain",
          answers([](Request&) { return Response::text("OK"); })),
      get("/api/3.0/mlflow/server-info", "mlflow_server_info", "What of MLflow's server there is here", Access::kViewer,
          "application/json", answers([](Request&) {
            return Response::json({{"store_type", "SqlStore"},
                                   {"workspaces_enabled", false},
                                   {"trace_archival_enabled", false},
                                   {"multipart_uploads_enabled", true},
                                   {"multipart_downloads_enabled", false}});
          })),
  };
}

}  // namespace linac::service
