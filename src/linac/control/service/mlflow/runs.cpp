#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/logged_models.h"
#include "linac/control/catalog/owners.h"
#include "linac/control/execution/news.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/long_lists.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr const char* kNameTag = "mlflow.runName";  // MLflow keeps a run's name there, too
constexpr int64_t kRunsMax = catalog::kSearchMax, kRunsDefault = 1000;

const FieldRule kRun{"run_id", FieldType::kText, true, "the run"};
// By its former name in requests of old clients.
const FieldRule kRunOptional{"run_id", FieldType::kText, false, "the run"};
const FieldRule kRunFormer{"run_uuid", FieldType::kText, false, "former name of run_id"};

json whole(Database& database, const catalog::Run& run) {
  json result = mlflow::run_json(run);
  json inputs = json::array(), outputs = json::array();
  for (const auto& link : catalog::run_models(database, run.id)) {
    if (link.output) {
      outputs.push_back({{"model_id", link.model}, {"step", link.step}});
    } else {
      inputs.push_back({{"model_id", link.model}});
    }
  }
  if (!inputs.empty()) result["inputs"]["model_inputs"] = std::move(inputs);
  if (!outputs.empty()) result["outputs"]["model_outputs"] = std::move(outputs);
  return result;
}

std::vector<Thing> experiment_of(const Request& request) {
  return {{kExperimentThing, request.text("experiment_id", "0")}};
}

json created(Database& database, Request& request) {
  catalog::NewRun run;
  run.experiment = mlflow::experiment_id(experiment_of(request).front().id);
  run.name = request.text("run_name");
  run.user = request.caller.user;  // whoever the client says
  run.started_ms = request.integer("start_time");
  run.tags = mlflow::tags(request.list("tags"), mlflow::kTagBytesMax);
  const std::string tagged = run.tags.contains(kNameTag) ? run.tags[kNameTag] : "";
  if (!run.name.empty() && !tagged.empty() && run.name != tagged)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[runs] 'run_name' is '{}', the tag {} is '{}'; give the same name or one of both",
                              run.name, kNameTag, tagged));
  if (run.name.empty()) run.name = tagged;
  if (run.tags.contains(mlflow::kUserTag)) run.tags[mlflow::kUserTag] = run.user;
  const catalog::Run made = catalog::create_run(database, run);
  request.things = {{kRunThing, made.id}};
  if (made.name != tagged) catalog::set_run_tags(database, made.id, {{kNameTag, made.name}});
  return {{"run", mlflow::run_json(catalog::run(database, made.id))}};
}

/// What the queue starts and ends is not over because somebody says so.
void check_not_queued(Database& database, const std::string& id) {
  if (!catalog::is_queued(database, id)) return;
  throw Refusal(RefusalKind::kState,
                fmt::format("[runs] {} is a job of the queue, which alone changes its state; cancel it first", id));
}

json updated(Database& database, Request& request) {
  const std::string id = mlflow::run_id(request);
  catalog::RunChange change;
  if (!request.text("run_name").empty()) change.name = request.text("run_name");
  if (request.has("status")) {
    change.state = mlflow::state(request.text("status"));
    check_not_queued(database, id);
  }
  if (request.has("end_time")) change.ended_ms = request.integer("end_time");
  catalog::update_run(database, id, change);
  if (change.name) catalog::set_run_tags(database, id, {{kNameTag, *change.name}});
  return {{"run_info", mlflow::run_info_json(catalog::run(database, id))}};
}

Handler update_handler(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const json answer = co_await change(context, request, updated);
    if (request.has("status")) {
      const catalog::RunState state = mlflow::state(request.text("status"));
      execution::publish_state(context.hub, mlflow::run_id(request), state, "");
    }
    co_return Response::json(answer);
  };
}

LongList searched(Database& database, Request& request) {
  const auto experiments = request.texts("experiment_ids");
  if (experiments.empty()) return {.name = "runs"};  // as MLflow: none named, none found
  catalog::RunSearch search;
  for (const auto& id : experiments) search.experiments.push_back(mlflow::experiment_id(id));
  search.filter = request.text("filter");
  search.order = request.texts("order_by");
  search.view = mlflow::view(request, "run_view_type");
  search.limit = mlflow::page_size(request, kRunsDefault, kRunsMax);
  search.token = request.text("page_token");
  catalog::Page<int64_t> page = catalog::search_run_numbers(database, viewer_of(request), search);
  LongList list{"runs", json::object(), static_cast<int64_t>(page.items.size())};
  if (!page.next.empty()) list.more["next_page_token"] = page.next;
  list.items = [numbers = std::move(page.items)](Database& d, int64_t from, int64_t count) {
    json runs = json::array();
    for (const auto& run : catalog::runs_numbered(d, std::span(numbers).subspan(from, count)))
      runs.push_back(whole(d, run));
    return runs;
  };
  return list;
}

json set_deleted(Database& database, const Request& request, bool deleted) {
  if (deleted) check_not_queued(database, request.text("run_id"));
  catalog::set_run_deleted(database, request.text("run_id"), deleted);
  return json::object();
}

}  // namespace

std::string mlflow::run_id(const Request& request) {
  const std::string id = request.text("run_id", request.text("run_uuid"));
  if (id.empty()) throw Refusal(RefusalKind::kInvalid, "[request] Missing value for required parameter 'run_id'");
  return id;
}

std::vector<Route> mlflow_run_routes(Context& context) {
  using enum Method;
  using mlflow::route;
  return {
      route(kPost, "runs/create", "create_run", "A new run, which is running",
            Permission(Access::kMember, Changes::made(), Reads::of(experiment_of)),
            {{"experiment_id", FieldType::kText, false, "the experiment; none: \"0\""},
             {"user_id", FieldType::kText, false, "not used: it is the token's user"},
             {"run_name", FieldType::kText, false, "none: one is made"},
             {"start_time", FieldType::kInteger, false, "milliseconds since 1970; none: now"},
             {"tags", FieldType::kObjects, false, "{key, value}"}},
            writes(context, created)),
      route(kGet, "runs/get", "get_run", "A run with its parameters, tags, inputs and last metrics",
            mlflow::shows_run(), {kRunOptional, kRunFormer},
            reads(context,
                  [](Database& database, Request& request) -> json {
                    return {{"run", whole(database, catalog::run(database, mlflow::run_id(request)))}};
                  })),
      route(kPost, "runs/update", "update_run", "Changes a run's status, end or name", mlflow::of_run(),
            {kRunOptional,
             kRunFormer,
             {"status", FieldType::kText, false, "RUNNING, SCHEDULED, FINISHED, FAILED or KILLED"},
             {"end_time", FieldType::kInteger, false, "milliseconds since 1970"},
             {"run_name", FieldType::kText, false, "another name"}},
            update_handler(context)),
      route(kPost, "runs/search", "search_runs", "Runs that a filter names, in an order", mlflow::finds(),
            {{"experiment_ids", FieldType::kTexts, false, "where to search"},
             {"filter", FieldType::kText, false, "e.g. metrics.auc > 0.9 AND params.lr = '0.001'"},
             {"run_view_type", FieldType::kText, false, "ACTIVE_ONLY, DELETED_ONLY or ALL"},
             {"max_results", FieldType::kInteger, false, "of a page"},
             {"order_by", FieldType::kTexts, false, "e.g. metrics.auc DESC"},
             {"page_token", FieldType::kText, false, "of the page before"}},
            reads_long_list(context, searched)),
      route(kPost, "runs/delete", "delete_run", "Marks a run as deleted", mlflow::of_run(), {kRun},
            writes(context, [](Database& database, Request& request) { return set_deleted(database, request, true); })),
      route(
          kPost, "runs/restore", "restore_run", "Takes that back", mlflow::of_run(), {kRun},
          writes(context, [](Database& database, Request& request) { return set_deleted(database, request, false); })),
  };
}

}  // namespace linac::service
