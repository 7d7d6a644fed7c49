#include <nlohmann/json.hpp>
#include <optional>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/long_lists.h"
#include "linac/control/service/mlflow/words.h"
#include "linac/control/service/routes/table.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr int64_t kPointsMax = 25000;  // of a page, as MLflow's own

int64_t offset_of(const std::string& token) {
  if (token.empty()) return 0;
  try {
    size_t used = 0;
    const int64_t offset = std::stoll(token, &used);
    if (used == token.size() && offset >= 0) return offset;
  } catch (const std::exception&) {
  }
  throw Refusal(RefusalKind::kInvalid, "[request] 'page_token' is none that this service gave");
}

/// As MLflow's own server has it, a point that was sent twice is there once: points that are the same stand side by
/// side in the curve's order. `before`: the last of the page before.
json distinct(const std::string& key, const std::vector<catalog::Point>& points, std::optional<catalog::Point> before) {
  json metrics = json::array();
  for (const catalog::Point& point : points) {
    if (!before || !same(*before, point)) metrics.push_back(mlflow::metric_json(key, point));
    before = point;
  }
  return metrics;
}

/// All points of a curve, as long as it is.
LongList whole_history(Database& database, const std::string& run, const std::string& key, int64_t offset) {
  int64_t count = 0;
  for (const auto& metric : catalog::run(database, run).metrics)
    if (metric.key == key) count = std::max<int64_t>(0, metric.count - offset);
  LongList list{"metrics", json::object(), count, kPointsMax};
  list.items = [=, before = std::optional<catalog::Point>()](Database& d, int64_t from, int64_t n) mutable {
    const auto points = catalog::curve(d, run, key, offset + from, n);
    json metrics = distinct(key, points, before);
    if (!points.empty()) before = points.back();
    return metrics;
  };
  return list;
}

LongList history(Database& database, Request& request) {
  const std::string run = mlflow::run_id(request), key = request.text("metric_key");
  catalog::run(database, run);
  const int64_t offset = offset_of(request.text("page_token"));
  const bool paged =
      request.has("max_results");  // without it the whole curve comes, as MLflow's clients before 2.9 expect
  if (!paged) return whole_history(database, run, key, offset);
  const int64_t limit = mlflow::page_size(request, kPointsMax, kPointsMax);
  const auto points = catalog::curve(database, run, key, offset, limit);
  std::optional<catalog::Point> before;
  if (offset > 0)
    for (const catalog::Point& point : catalog::curve(database, run, key, offset - 1, 1)) before = point;
  const auto count = static_cast<int64_t>(points.size());
  LongList list{"metrics", json::object(), count, kPointsMax};
  if (count == limit && !catalog::curve(database, run, key, offset + count, 1).empty())
    list.more["next_page_token"] = std::to_string(offset + count);
  list.items = [=](Database&, int64_t from, int64_t n) {
    const auto begin = points.begin() + from;
    return distinct(key, {begin, begin + n}, from > 0 ? std::optional(*(begin - 1)) : before);
  };
  return list;
}

/// MLflow's own page draws from this: at most so many points of each run, spread over the steps.
json bulk_interval(Database& database, Request& request) {
  constexpr int64_t kMost = 2500;
  const auto runs = request.texts("run_ids");
  const std::string key = request.text("metric_key");
  const int64_t most = request.has("max_results") ? mlflow::page_size(request, kMost, kMost) : kMost;
  if (runs.empty() || runs.size() > 100)
    throw Refusal(RefusalKind::kInvalid, "[request] 'run_ids' names no run, or more than 100");
  const int64_t from = request.has("start_step") ? request.integer("start_step") : INT64_MIN;
  const int64_t to = request.has("end_step") ? request.integer("end_step") : INT64_MAX;
  if (from > to) throw Refusal(RefusalKind::kInvalid, "[request] 'end_step' is before 'start_step'");
  json metrics = json::array();
  for (const std::string& run : runs) {
    for (const auto& stretch : catalog::thinned(database, run, key, most, from, to)) {
      json metric = mlflow::metric_json(key, {stretch.last_step, stretch.time_ms, stretch.last});
      metric["run_id"] = run;
      metrics.push_back(std::move(metric));
    }
  }
  return {{"metrics", std::move(metrics)}};
}

}  // namespace

std::vector<Route> mlflow_history_routes(Context& context) {
  using enum Method;
  using mlflow::route;
  return {
      route(kGet, "metrics/get-history", "get_history", "All points of a metric", mlflow::shows_run(),
            {{"run_id", FieldType::kText, false, "the run"},
             {"run_uuid", FieldType::kText, false, "former name of run_id"},
             {"metric_key", FieldType::kText, true, "the metric"},
             {"page_token", FieldType::kText, false, "of the page before"},
             {"max_results", FieldType::kInteger, false, "of a page, at most 25000; none: all"}},
            reads_long_list(context, history)),
      route(kGet, "metrics/get-history-bulk-interval", "get_history_bulk_interval",
            "Points of a metric of several runs, thinned", mlflow::shows(by_list(kRunThing, "run_ids")),
            {{"run_ids", FieldType::kTexts, true, "at most 100"},
             {"metric_key", FieldType::kText, true, "the metric"},
             {"start_step", FieldType::kInteger, false, "the first"},
             {"end_step", FieldType::kInteger, false, "the last"},
             {"max_results", FieldType::kInteger, false, "of each run, at most 2500"}},
            reads(context, bulk_interval)),
  };
}

}  // namespace linac::service
