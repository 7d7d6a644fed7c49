#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/http/files/file_response.h"
#include "linac/control/service/artifact_files.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using nlohmann::json;

namespace {

constexpr const char* kFolder = "/api/2.0/mlflow-artifacts/artifacts";
constexpr const char* kFile = "/api/2.0/mlflow-artifacts/artifacts/{path...}";
constexpr size_t kFileBytesMax = size_t{64} << 30;

Response listed(Context& context, const Request& request) {
  const std::string folder = harmless_path(request.text("path"));
  json files = json::array();
  for (const FolderEntry& entry : entries_below(context.artifacts, folder))
    files.push_back(file_info(entry, entry.path.substr(folder.empty() ? 0 : folder.size() + 1)));
  return Response::json({{"files", std::move(files)}});
}

Handler list_of_run(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string id = mlflow::run_id(request);
    const std::string root =
        co_await reading(context, [&](catalog::Database& database) { return catalog::run(database, id).artifact_uri; });
    json answer;
    co_await aside(context, [&] { answer = listed_artifacts(context.artifacts, root, request.text("path")); });
    co_return Response::json(answer);
  };
}

}  // namespace

std::vector<Route> mlflow_artifact_routes(Context& context) {
  using enum Method;
  const auto route = [](Method method, const char* pattern, const char* name, const char* summary, Access access,
                        Handler handler) {
    Route route;
    route.method = method;
    route.pattern = pattern;
    route.name = name;
    route.summary = summary;
    route.access = access;
    route.handler = std::move(handler);
    return route;
  };
  Route list = route(kGet, kFolder, "mlflow_list_artifact_files", "What lies in a folder of artefacts", Access::kViewer,
                     works_aside(context, [&context](Request& request) { return listed(context, request); }));
  list.fields = {{"path", FieldType::kText, false, "the folder"}};
  list.reads = Reads::of([](const Request& request) {
    return std::vector<Thing>{{kArtifactThing, request.text("path")}};
  });
  Route get = route(kGet, kFile, "mlflow_get_artifact", "An artefact; a part of it by the header Range",
                    Access::kViewer, works_aside(context, [&context](Request& request) {
                      const std::string& path = request.variable("path");
                      return http::file_response(open_below(context.artifacts, path), path);
                    }));
  get.response_type = "application/octet-stream";
  get.reads = Reads::of(by_variable(kArtifactThing, "path"));
  Route put = route(kPut, kFile, "mlflow_put_artifact", "Writes an artefact, over a former one", Access::kMember,
                    works_aside(context, [&context](Request& request) {
                      place_below(context.artifacts, request.variable("path"), request.body_file);
                      return Response::json(json::object());
                    }));
  put.body = BodyKind::kFile;
  put.body_bytes_max = kFileBytesMax;
  Route remove = route(kDelete, kFile, "mlflow_delete_artifact", "Removes an artefact or a folder of them",
                       Access::kMember, works_aside(context, [&context](Request& request) {
                         remove_below(context.artifacts, request.variable("path"));
                         return Response::json(json::object());
                       }));
  put.changes = remove.changes = Changes::of(by_variable(kArtifactThing, "path"));
  Route of_run = mlflow::route(kGet, "artifacts/list", "list_artifacts", "A run's artefacts", mlflow::shows_run(),
                               {{"run_id", FieldType::kText, false, "the run"},
                                {"run_uuid", FieldType::kText, false, "former name of run_id"},
                                {"path", FieldType::kText, false, "folder within the run's artefacts"},
                                {"page_token", FieldType::kText, false, "not needed: all come at once"}},
                               list_of_run(context));
  return {std::move(list), std::move(get), std::move(put), std::move(remove), std::move(of_run)};
}

}  // namespace linac::service
