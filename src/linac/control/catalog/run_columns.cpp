#include "linac/control/catalog/run_columns.h"

#include <fmt/format.h>

#include <cmath>
#include <set>
#include <unordered_map>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/artifact_location.h"
#include "linac/control/catalog/records.h"

namespace linac::catalog {
namespace {

// No join: while PostgreSQL knows little of the tables, it would look through all runs of an experiment.
constexpr const char* kRun =
    "SELECT r.number, r.id, r.experiment, r.name, r.user_name, r.state, r.reason, r.deleted, r.created_ms, "
    "r.started_ms, r.ended_ms, (SELECT e.artifact_location FROM experiments e WHERE e.id = r.experiment) FROM runs r "
    "WHERE r.number IN ({numbers})";

Run of_row(const Row& row) {
  Run run;
  run.id = row.text(1);
  run.experiment = row.integer(2);
  run.name = row.text(3);
  run.user = row.text(4);
  run.state = run_state(row.text(5));
  run.reason = row.text(6);
  run.deleted = row.integer(7) != 0;
  run.created_ms = row.integer(8);
  run.started_ms = row.integer(9);
  run.ended_ms = row.integer(10);
  run.artifact_uri = run_artifacts(run.experiment, row.text(11), run.id);
  return run;
}

MetricSummary summary_of(const Row& row) {
  const auto last = unpacked(row.bytes(3));
  LINAC_CHECK(last.size() == 1);
  return {.key = row.text(1),
          .last = last.front(),
          .count = row.integer(2),
          .min = row.null(4) ? NAN : row.number(4),
          .max = row.null(5) ? NAN : row.number(5)};
}

/// Calls `each` with the rows `columns` of a table of names, by run and key: of a run with more than `most` the first
/// ones, and `cut` with its number. No row beyond those is looked at.
void for_names(Database& database, const std::string& columns, std::span<const int64_t> numbers, int64_t most,
               const std::function<void(const Row&)>& each, const std::function<void(int64_t)>& cut) {
  const size_t from = columns.find(" FROM ") + 6;
  std::set<int64_t> large;
  if (most > 0) {
    for_numbers(database,
                fmt::format("SELECT r.number FROM runs r WHERE r.number IN ({{numbers}}) AND (SELECT 1 FROM {} x WHERE "
                            "x.run = r.number LIMIT 1 OFFSET {}) IS NOT NULL",
                            columns.substr(from), most),
                numbers, [&](const Row& row) { large.insert(row.integer(0)); });
  }
  std::vector<int64_t> others;
  for (const int64_t number : numbers)
    if (!large.contains(number)) others.push_back(number);
  for_numbers(database, columns + " WHERE run IN ({numbers}) ORDER BY run, key", others, each);
  for (const int64_t number : large) {
    for (const Row& row : database.query(columns + " WHERE run = $1 ORDER BY key LIMIT $2", number, most)) each(row);
    cut(number);
  }
}

}  // namespace

std::string run_artifacts(int64_t experiment, const std::string& location, const std::string& id) {
  return artifacts_of(experiment, location, id);
}

std::vector<Run> runs_of(Database& database, std::span<const int64_t> numbers, int64_t names_max) {
  std::vector<Run> runs(numbers.size());
  std::unordered_map<int64_t, Run*> by_number;
  for (size_t i = 0; i < numbers.size(); ++i) by_number[numbers[i]] = &runs[i];
  const auto of = [&](const Row& row) -> Run& { return *by_number.at(row.integer(0)); };

  for_numbers(database, kRun, numbers, [&](const Row& row) { of(row) = of_row(row); });
  const auto cut = [&](const char* what) {
    return [&by_number, what](int64_t number) { by_number.at(number)->cut.emplace_back(what); };
  };
  for_names(
      database, "SELECT run, key, value FROM parameters", numbers, names_max,
      [&](const Row& row) { of(row).parameters[row.text(1)] = row.text(2); }, cut("parameters"));
  for_names(
      database, "SELECT run, key, value FROM run_tags", numbers, names_max,
      [&](const Row& row) { of(row).tags[row.text(1)] = row.text(2); }, cut("tags"));
  // The list of numbers may end in the same run several times, but its rows come once.
  for_names(
      database, "SELECT run, key, count, last, min_value, max_value FROM series", numbers, names_max,
      [&](const Row& row) { of(row).metrics.push_back(summary_of(row)); }, cut("metrics"));
  std::unordered_map<Run*, std::vector<int64_t>> data_sets;
  // What nobody reads in a list is not in it.
  const auto short_text = [&](const char* column) {
    return names_max == 0
               ? std::string(column)
               : fmt::format("CASE WHEN LENGTH({0}) > {1} THEN '' ELSE {0} END", column, kInputTextInListMax);
  };
  for_numbers(
      database,
      fmt::format(
          "SELECT i.run, d.number, d.name, d.digest, d.source_type, d.source, {}, {}, CASE WHEN {} THEN 1 ELSE 0 "
          "END FROM inputs i JOIN data_sets d ON d.number = i.data_set WHERE i.run IN ({{numbers}}) "
          "ORDER BY i.run, d.number",
          short_text("d.schema_text"), short_text("d.profile"),
          names_max == 0 ? "0 = 1"
                         : fmt::format("LENGTH(d.schema_text) > {0} OR LENGTH(d.profile) > {0}", kInputTextInListMax)),
      numbers, [&](const Row& row) {
        if (row.integer(8) != 0 && (of(row).cut.empty() || of(row).cut.back() != "inputs"))
          of(row).cut.emplace_back("inputs");
        of(row).inputs.push_back({row.text(2), row.text(3), row.text(4), row.text(5), row.text(6), row.text(7), {}});
        data_sets[&of(row)].push_back(row.integer(1));
      });
  if (data_sets.empty()) return runs;
  for_numbers(database, "SELECT run, data_set, key, value FROM input_tags WHERE run IN ({numbers})", numbers,
              [&](const Row& row) {
                const auto& known = data_sets.at(&of(row));
                const auto at = std::find(known.begin(), known.end(), row.integer(1)) - known.begin();
                of(row).inputs.at(static_cast<size_t>(at)).tags[row.text(2)] = row.text(3);
              });
  return runs;
}

void add_transition(Database& database, int64_t number, const Transition& transition) {
  database.query("INSERT INTO transitions (run, time_ms, from_state, to_state, reason) VALUES ($1, $2, $3, $4, $5)",
                 number, transition.time_ms, transition.from ? to_string(*transition.from) : "",
                 to_string(transition.to), transition.reason);
}

void change_state(Database& database, int64_t number, RunState to, const std::string& reason, int64_t ended_ms) {
  const Row row = database.query("SELECT state, started_ms FROM runs WHERE number = $1", number).front();
  const int64_t now = now_ms();
  const bool starts = to == RunState::kRunning && row.integer(1) == 0;
  const int64_t end = !ended(to) ? 0 : ended_ms > 0 ? ended_ms : now;
  database.query(
      "UPDATE runs SET state = $2, reason = $3, ended_ms = $4, started_ms = CASE WHEN $5 <> 0 THEN $5 ELSE "
      "started_ms END, order_ms = CASE WHEN $5 <> 0 THEN $5 ELSE order_ms END WHERE number = $1",
      number, to_string(to), reason, end, starts ? now : int64_t{0});
  add_transition(database, number, {now, run_state(row.text(0)), to, reason});
}

}  // namespace linac::catalog
