#pragma once
// What a request to the service may ask for: the table that docs/reference/bounds.md is made from. Each value is the
// constant that the code beside it refuses by; tests/service/attack_api_test.py asks for each, and for one more.

#include <array>
#include <cstdint>
#include <string_view>

#include "linac/control/catalog/filter_sql.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/records.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/execution/record/run_lines.h"
#include "linac/control/http/query.h"
#include "linac/control/http/routes/dispatcher.h"
#include "linac/control/http/routes/json_fields.h"
#include "linac/control/http/server/request_reader.h"
#include "linac/control/service/context.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/past_runs.h"
#include "linac/control/service/plan_request.h"
#include "linac/control/service/things.h"

namespace linac::service {

constexpr int64_t kPageMax = 5000, kStretchesMax = 5000, kStretchesOfAllMax = 500'000;
constexpr size_t kCurvesMax = 500, kPointsMax = 20000, kPointNamesMax = 1000;

struct Bound {
  std::string_view name;
  int64_t most;
  std::string_view what;
  int status;              // of a request beyond it; 0: it gets less, or waits
  std::string_view words;  // in the error's text
};

constexpr auto kBounds = std::to_array<Bound>({
    {"filter.bytes", catalog::kFilterBytesMax, "bytes of a filter, and of an order", 400, "are the most"},
    {"filter.conditions", catalog::kConditionsMax, "comparisons in a filter", 400, "conditions at most"},
    {"filter.values", catalog::kValuesMax, "values in a filter, those of `IN` together", 400, "values at most"},
    {"filter.depth", catalog::kFilterDepthMax, "parentheses and `NOT` in each other", 400, "too many levels"},
    {"search.orders", catalog::kOrdersMax, "entries of `order_by`", 400, "orders"},
    {"search.experiments", catalog::kExperimentsOfSearchMax, "experiments that a search names", 400, "experiments"},
    {"search.results", catalog::kSearchMax, "`max_results` of a search of runs", 400, "max_results"},
    {"search.body", mlflow::kSearchBytesMax, "bytes of a body that only reads, in MLflow's API", 413, "larger than"},
    {"search.seconds", kReadMax.time.count() / 1000, "seconds of a statement of the database", 400, "takes longer"},
    {"search.bytes", kReadMax.bytes, "bytes of rows that a statement of the database gives", 400,
     "the database has more"},
    {"answer.bytes", kAnswerBytesMax,
     "bytes of an answer that is made as a whole; searches of runs and histories come in pieces", 400,
     "the answer has"},
    {"list.limit", kPageMax, "`limit` of a page", 400, "limit"},
    {"list.names", catalog::kNamesInListMax,
     "metrics, parameters and tags, each, of a run in a list; `cut` names those of which there are more", 0, ""},
    {"list.text", catalog::kInputTextInListMax,
     "characters of a data set's schema and profile, each, of a run in a list; `cut` says where there are more", 0, ""},
    {"run.metrics", catalog::kNamesOfRunMax, "metrics of a run", 400, "metrics at most"},
    {"run.parameters", catalog::kNamesOfRunMax, "parameters of a run", 400, "parameters at most"},
    {"run.tags", catalog::kNamesOfRunMax, "tags of a run", 400, "tags at most"},
    {"run.inputs", catalog::kInputsOfRunMax, "data sets of a run", 400, "data sets at most"},
    {"request.things", kNamedMax, "runs or other things that a request names", 400, "ask for fewer"},
    {"curves.curves", kCurvesMax, "runs times keys", 400, "curves"},
    {"curves.stretches", kStretchesMax, "`stretches` of a curve", 400, "stretches"},
    {"curves.all_stretches", kStretchesOfAllMax, "stretches of all curves of a request", 400, "stretches together"},
    {"points.batch", kPointsMax, "points of a sender's batch", 400, "points in a batch"},
    {"points.names", kPointNamesMax, "metrics of a sender's batch", 400, "metrics in a batch"},
    {"line.names", execution::kPieceMax.metrics, "metrics of a line of a run's `metrics.jsonl` that is sent", 400,
     "metrics in a line"},
    {"batch.metrics", mlflow::kMetricsMax, "metrics of `log-batch`", 400, "metrics"},
    {"batch.parameters", mlflow::kParametersMax, "parameters of `log-batch`", 400, "params"},
    {"batch.tags", mlflow::kTagsMax, "tags of `log-batch`", 400, "tags"},
    {"batch.entities", mlflow::kEntitiesMax, "metrics, parameters and tags of `log-batch` together", 400,
     "metrics, params and tags"},
    {"batch.body", mlflow::kBodyBytesMax, "bytes of a body that records, in MLflow's API", 413, "larger than"},
    {"plan.rows", kPlanRowsMax, "`rows` of a plan", 400, "'rows'"},
    {"plan.patterns", kPlanPatternsMax, "patterns of machines, and regions, each, of a plan", 400, "entries"},
    {"plan.workers", kPlanWorkersMax, "numbers of workers of a plan", 400, "entries"},
    {"plan.ways", kPlanCandidatesMax, "ways to run a job that a plan compares", 400, "are the most"},
    {"plan.runs", PastRuns::kRunsMax, "runs, the newest, that teach a plan", 0, ""},
    {"plan.record", PastRuns::kRecordBytesMax, "bytes of the `metrics.jsonl` of a run that teaches a plan", 0, ""},
    {"name.metric", catalog::kKeyMax, "bytes of a metric's name", 400, "a metric's name"},
    {"name.tag", catalog::kTagKeyMax, "bytes of the name of a tag or parameter", 400, "the name of tag"},
    {"name.run", catalog::kNameMax, "bytes of the name of a run, experiment or model", 400, "the name of the run"},
    {"query.parameters", http::kQueryParametersMax, "parameters of a query", 400, "query"},
    {"body.depth", http::kDepthMax, "lists and objects in each other", 400, "nested"},
    {"head.bytes", http::RequestReader::kHeadBytesMax, "bytes of a request's head", 431, "head"},
    {"user.readers", kReadersOfOneMax, "reads of a user at once; further ones wait in turn with those of others", 0,
     ""},
    {"user.bodies", http::kBodiesOfOneMax, "bytes of a user's bodies under way, files apart", 429, "bodies of yours"},
    {"user.streams", Hub::kStreamsOfOneMax, "streams of a user", 429, "streams of yours"},
    {"user.waiting", Turns::kWaitingOfOneMax, "reads of a user that wait", 429, "wait already"},
});

}  // namespace linac::service
