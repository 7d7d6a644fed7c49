// The folder and the log of a run over HTTP, to be read.

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "linac/base/base/safe_path.h"
#include "linac/control/execution/record/run_log.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/http/files/file_response.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {
namespace {

using nlohmann::json;

constexpr int64_t kLogPieceMax = 1 << 20;
constexpr size_t kFileBytesMax = size_t{64} << 30;
constexpr int64_t kWaitMax_s = 30;
constexpr std::chrono::milliseconds kLookEvery{250};

const FieldRule kFrom{"from", FieldType::kInteger, false, "the first byte; less than 0: from the end"};
const FieldRule kBytes{"bytes", FieldType::kInteger, false, "at most so many; 1 MiB at most"};
const FieldRule kWait{"wait_s", FieldType::kInteger, false, "wait so long for something new; 30 at most"};

struct LogAnswer {
  execution::LogPiece piece;
  catalog::Run run;
};

Response log_response(LogAnswer answer) {
  Response response = Response::text(execution::as_text(std::move(answer.piece.bytes)));
  response.headers = {{"Linac-Log-From", std::to_string(answer.piece.from)},
                      {"Linac-Log-End", std::to_string(answer.piece.end)},
                      {"Linac-Run-State", catalog::to_string(answer.run.state)},
                      {"Cache-Control", "no-store"}};
  return response;
}

Handler log_handler(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string id = request.variable("id");
    const catalog::Viewer viewer = viewer_of(request);
    const int64_t from = request.integer("from"),
                  bytes = std::clamp<int64_t>(request.integer("bytes", kLogPieceMax), 1, kLogPieceMax);
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::seconds(std::clamp<int64_t>(request.integer("wait_s"), 0, kWaitMax_s));
    boost::asio::steady_timer timer(co_await boost::asio::this_coro::executor);
    for (;;) {
      LogAnswer answer;
      co_await aside(context, [&] {
        // The state first: what an ended run has written is then there. It may have become private meanwhile.
        answer.run = context.catalog.read_as([&](catalog::Database& database) {
          const auto audience = catalog::audience_of_run(database, id);
          if (!audience || !may_read(viewer, *audience)) throw not_there({kRunThing, id});
          return catalog::run(database, id);
        });
        answer.piece = execution::read_log(execution::RunPlaces(context.host, answer.run).log, from, bytes);
      });
      const bool news = !answer.piece.bytes.empty() || catalog::ended(answer.run.state);
      if (news || context.traffic.stopping || std::chrono::steady_clock::now() >= until)
        co_return log_response(std::move(answer));
      timer.expires_after(kLookEvery);
      co_await timer.async_wait(boost::asio::use_awaitable);
    }
  };
}

Response folder_response(Context& context, const catalog::Run& run, const std::string& path) {
  json files = json::array();
  for (const FolderEntry& entry : entries_below(execution::RunPlaces(context.host, run).outputs, path, 10000))
    files.push_back({{"path", entry.path}, {"folder", entry.folder}, {"bytes", entry.bytes}});
  return Response::json({{"files", std::move(files)}});
}

Handler put_handler(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    co_await aside(context, [&] {
      const catalog::Run run = context.host.run(request.variable("id"));
      const execution::RunPlaces places(context.host, run);
      folder_below(context.data, places.outputs.lexically_relative(context.data).string());
      place_below(places.outputs, request.variable("path"), request.body_file);
    });
    co_return Response::json(json::object());
  };
}

}  // namespace

std::vector<Route> run_file_routes(Context& context) {
  const Reads of_run = Reads::of(by_variable(kRunThing, "id"));
  return {
      showing(of_run, {Method::kGet,
                       "/api/v1/runs/{id}/log",
                       "get_run_log",
                       "What the run's processes printed; the header Linac-Log-End says where the next piece begins",
                       Access::kViewer,
                       BodyKind::kNone,
                       {kFrom, kBytes, kWait},
                       log_handler(context),
                       1 << 20,
                       {},
                       "text/plain"}),
      showing(of_run, {Method::kGet,
                       "/api/v1/runs/{id}/files",
                       "list_run_files",
                       "What lies in the run's folder, or a folder of it",
                       Access::kViewer,
                       BodyKind::kNone,
                       {{"path", FieldType::kText, false, "of the folder"}},
                       works_aside(context,
                                   [&context](Request& request) {
                                     return folder_response(context, context.host.run(request.variable("id")),
                                                            request.text("path"));
                                   })}),
      showing(of_run, {Method::kGet,
                       "/api/v1/runs/{id}/files/{path...}",
                       "get_run_file",
                       "A file of the run's folder",
                       Access::kViewer,
                       BodyKind::kNone,
                       {},
                       works_aside(context,
                                   [&context](Request& request) {
                                     const execution::RunPlaces places(context.host,
                                                                       context.host.run(request.variable("id")));
                                     const std::string& path = request.variable("path");
                                     Response response = http::file_response(open_below(places.outputs, path), path);
                                     http::prepare_range(request, response);
                                     return response;
                                   }),
                       1 << 20,
                       {},
                       "application/octet-stream"}),
      changing(Changes::of(by_variable(kRunThing, "id")), {Method::kPut,
                                                           "/api/v1/runs/{id}/files/{path...}",
                                                           "put_run_file",
                                                           "Adds a file to the run's folder",
                                                           Access::kMember,
                                                           BodyKind::kFile,
                                                           {},
                                                           put_handler(context),
                                                           kFileBytesMax}),
  };
}

}  // namespace linac::service
