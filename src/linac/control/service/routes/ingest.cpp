// Runs that were made without this service, as `linac ingest` sends them: any number of times, in pieces, with the same
// outcome.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/hex.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/names.h"
#include "linac/control/execution/news.h"
#include "linac/control/execution/record/run_facts.h"
#include "linac/control/execution/record/run_recorder.h"
#include "linac/control/service/bounds.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/named_experiment.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

constexpr size_t kLinesBytesMax = 8 << 20, kFactsBytesMax = 2 * execution::kFactFileBytesMax;
static_assert(execution::kPieceMax.metrics == kPointNamesMax);
constexpr const char* kKeyTag = "linac.ingest.key";

bool harmless_key(const std::string& key) {
  return !key.empty() && key.size() <= 64 && is_hex(key);
}

// Names a run by what its folder alone has; the same folder is the same run, for the same user.
json begin(Database& database, Request& request, catalog::Visibility visibility) {
  const std::string key = request.text("key");
  if (!harmless_key(key))
    throw Refusal(RefusalKind::kInvalid,
                  "[ingest] a key is 1 to 64 hexadecimal digits (0-9, a-f) that name the run's folder");
  catalog::RunSearch search;
  search.filter = fmt::format("tags.`{}` = '{}'", kKeyTag, key);
  search.view = catalog::View::kAll;
  for (const catalog::Run& run : catalog::search_runs(database, viewer_of(request), search).items) {
    if (run.user != request.caller.user) continue;
    if (run.deleted) {
      throw Refusal(RefusalKind::kState,
                    fmt::format("[ingest] the run was brought in as {} and deleted since; restore it first", run.id));
    }
    return {{"id", run.id}, {"name", run.name}, {"fresh", false}};
  }
  catalog::NewRun run;
  run.experiment = named_experiment(database, viewer_of(request), request.text("experiment"), visibility);
  run.name = request.text("name");
  run.user = request.caller.user;
  run.started_ms = request.integer("started_ms");
  run.tags = {{kKeyTag, key},
              {"mlflow.user", run.user},
              {"mlflow.source.type", "LOCAL"},
              {"mlflow.source.name", "linac train"}};
  const catalog::Run made = catalog::create_run(database, run);
  request.things = {{kRunThing, made.id}};
  return {{"id", made.id}, {"name", made.name}, {"fresh", true}};
}

catalog::Run ingested(Database& database, const Request& request) {
  const catalog::Run run = catalog::run(database, request.variable("id"));
  if (!run.tags.contains(kKeyTag))
    throw Refusal(RefusalKind::kState, fmt::format("[ingest] {} was not begun by POST /api/v1/ingest", run.id));
  return run;
}

Handler lines_handler(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string id = request.variable("id");
    const std::string_view lines = execution::whole_lines(request.body);
    const int64_t begin = request.integer("offset"), end = begin + static_cast<int64_t>(lines.size());
    int64_t points = 0, damaged = 0, offset = begin;
    // Piece by piece, each with a turn of its own among what others write; what is in the catalog by then stays there
    // if a later one fails.
    do {
      execution::ReadLines read;
      co_await aside(context, [&] {
        const execution::RunCursor cursor = context.catalog.read_as([&](Database& database) {
          const catalog::Run run = ingested(database, request);
          return execution::cursor_of(database, run.id);
        });
        read = execution::read_some_lines(cursor, offset, lines.substr(static_cast<size_t>(offset - begin)),
                                          request.integer("until_ms"), execution::kPieceMax);
        if (!read.within(execution::kPieceMax))
          throw Refusal(RefusalKind::kInvalid,
                        fmt::format("[ingest] more than {} metrics in a line; log less at a time", kPointNamesMax));
      });
      co_await writing(
          context, [&](Database& database) { execution::add_lines(database, id, read); }, who_asks(request));
      offset = read.after.offset;
      damaged += read.damaged;
      points += static_cast<int64_t>(read.points.size());
      context.points_total += static_cast<int64_t>(read.points.size());
      if (!read.points.empty()) context.hub.publish_points(id, read.points);
    } while (offset < end);
    co_return Response::json({{"offset", offset}, {"points", points}, {"damaged", damaged}});
  };
}

json add_run_facts(Database& database, const Request& request, const execution::ReadFacts& read) {
  const catalog::Run run = ingested(database, request);
  execution::add_facts(database, run.id, read);
  const catalog::RunState state = job::state_of(read.run.status);
  if (state != run.state) {
    catalog::RunChange change;
    change.state = state;
    change.reason = read.run.error;
    if (const int64_t ended_ms = request.integer("ended_ms"); catalog::ended(state) && ended_ms > 0)
      change.ended_ms = ended_ms;
    catalog::update_run(database, run.id, change);
  }
  return {{"id", run.id}, {"state", catalog::to_string(state)}};
}

Handler facts_handler(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    execution::ReadFacts read;
    co_await aside(context, [&] {
      context.catalog.read([&](Database& database) { ingested(database, request); });
      read = execution::read_facts(request.text("job"), request.text("run"));
    });
    const json answer = co_await writing(
        context, [&](Database& database) { return add_run_facts(database, request, read); }, who_asks(request));
    co_return Response::json(answer);
  };
}

}  // namespace

std::vector<Route> ingest_routes(Context& context) {
  const Changes recorded = Changes::recorded(by_variable(kRunThing, "id"));
  return {
      changing(Changes::made(),
               {Method::kPost,
                "/api/v1/ingest",
                "begin_ingest",
                "The run that stands for a folder made elsewhere; a new one if it is not known",
                Access::kMember,
                BodyKind::kJson,
                {{"key", FieldType::kText, true, "hexadecimal digits that name the folder"},
                 {"name", FieldType::kText, false, "of the run"},
                 {"experiment", FieldType::kText, false, "its name; made if there is none"},
                 {"started_ms", FieldType::kInteger, false, "when it began"}},
                writes(context, [&context](Database& database,
                                           Request& request) { return begin(database, request, context.visibility); })},
               Reads::found()),
      changing(recorded, {Method::kPost,
                          "/api/v1/runs/{id}/lines",
                          "ingest_lines",
                          "Whole lines of its metrics.jsonl, in order; what the catalog has already is passed over",
                          Access::kMember,
                          BodyKind::kBytes,
                          {{"offset", FieldType::kInteger, true, "of the first byte in the file; 0 begins again"},
                           {"until_ms", FieldType::kInteger, false, "when the last line was written"}},
                          lines_handler(context),
                          kLinesBytesMax}),
      changing(recorded, {Method::kPost,
                          "/api/v1/runs/{id}/facts",
                          "ingest_facts",
                          "Its job.yaml and run.json",
                          Access::kMember,
                          BodyKind::kJson,
                          {{"job", FieldType::kText, false, "text of job.yaml"},
                           {"run", FieldType::kText, false, "text of run.json"},
                           {"ended_ms", FieldType::kInteger, false, "when it ended"}},
                          facts_handler(context),
                          kFactsBytesMax}),
  };
}

}  // namespace linac::service
