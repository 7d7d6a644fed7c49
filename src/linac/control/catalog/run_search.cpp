#include <fmt/format.h>

#include <array>

#include "linac/control/catalog/run_columns.h"
#include "linac/control/catalog/runs.h"
#include "linac/control/catalog/search.h"

namespace linac::catalog {
namespace {

using Type = Attribute::Type;

// MLflow's words for the states.
const std::string kStatus = [] {
  std::string cases = "(CASE r.state";
  for (const job::RunStateEntry& entry : job::kRunStates)
    cases += fmt::format(" WHEN '{}' THEN '{}'", entry.word, entry.mlflow);
  return cases + " ELSE r.state END)";
}();
constexpr const char* kArtifactUri =
    "(SELECT CASE WHEN e.artifact_location = '' THEN 'mlflow-artifacts:/' || CAST(e.id AS TEXT) "
    "ELSE rtrim(e.artifact_location, '/') END || '/' || r.id || '/artifacts' FROM experiments e WHERE e.id = "
    "r.experiment)";

const std::array kAttributes{Attribute{"run_id", "r.id"},
                             Attribute{"run_name", "r.name"},
                             Attribute{"name", "r.name"},
                             Attribute{"status", kStatus},
                             Attribute{"state", "r.state"},
                             Attribute{"user_id", "r.user_name"},
                             Attribute{"user", "r.user_name"},
                             Attribute{"experiment_id", "CAST(r.experiment AS TEXT)"},
                             Attribute{"artifact_uri", kArtifactUri},
                             Attribute{"start_time", "r.started_ms", Type::kTime},
                             Attribute{"created", "r.order_ms", Type::kInteger},
                             Attribute{"end_time", "r.ended_ms", Type::kTime}};
const Searchable kRuns{
    .what = "runs",
    .attributes = kAttributes,
    .tags = "run_tags x WHERE x.run = r.number",
    .parameters = "parameters x WHERE x.run = r.number",
    .metrics = "series x WHERE x.run = r.number",
    .data_sets =
        "(SELECT i.run, d.name, d.digest, c.value AS context FROM inputs i JOIN data_sets d ON d.number = i.data_set "
        "LEFT JOIN input_tags c ON c.run = i.run AND c.data_set = i.data_set AND c.key = 'mlflow.data.context') x "
        "WHERE x.run = r.number"};

}  // namespace

Page<int64_t> search_run_numbers(Database& database, const Viewer& viewer, const RunSearch& search) {
  check_experiments(search.experiments.size());
  std::string condition = search.view == View::kAll      ? "1 = 1"
                          : search.view == View::kActive ? "r.deleted = 0"
                                                         : "r.deleted <> 0";
  if (search.experiments.size() == 1) {
    condition += fmt::format(" AND r.experiment = {}", search.experiments.front());
  } else if (!search.experiments.empty()) {
    condition += " AND r.experiment IN (";
    for (const int64_t id : search.experiments) condition += fmt::format("{},", id);
    condition.back() = ')';
  }
  const Search rows{.kind = kRuns,
                    .table = "runs r",
                    .result = "r.number",
                    .condition = std::move(condition),
                    .readable = kReadableRuns,
                    .viewer = viewer,
                    .filter = search.filter,
                    .order = search.order,
                    .order_last = "r.order_ms DESC, r.id",
                    .limit = search.limit,
                    .token = search.token};
  Page<int64_t> page;
  for (const Row& row : rows.rows(database, page.next)) page.items.push_back(row.integer(0));
  return page;
}

std::vector<Run> runs_numbered(Database& database, std::span<const int64_t> numbers) {
  return runs_of(database, numbers, kNamesInListMax);
}

Page<Run> search_runs(Database& database, const Viewer& viewer, const RunSearch& search) {
  const Page<int64_t> page = search_run_numbers(database, viewer, search);
  return {runs_numbered(database, page.items), page.next};
}

}  // namespace linac::catalog
