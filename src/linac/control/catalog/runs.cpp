#include "linac/control/catalog/runs.h"

#include <fmt/format.h>

#include <array>

#include "linac/base/base/clock.h"
#include "linac/base/base/secure_random.h"
#include "linac/control/catalog/filter_sql.h"
#include "linac/control/catalog/names.h"
#include "linac/control/catalog/records.h"
#include "linac/control/catalog/run_columns.h"

namespace linac::catalog {
namespace {

/// Of the sets that `user` has named in the experiment.
int64_t data_set_number(Database& database, int64_t experiment, const std::string& user, const DataSet& set) {
  check_name("data set", set.name);
  check_key("digest", set.digest);
  database.query(
      "INSERT INTO data_sets (experiment, name, digest, source_type, source, schema_text, profile, user_name) VALUES "
      "($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (experiment, user_name, name, digest) DO NOTHING",
      experiment, set.name, set.digest, set.source_type, set.source, set.schema, set.profile, user);
  return database
      .query("SELECT number FROM data_sets WHERE experiment = $1 AND user_name = $2 AND name = $3 AND digest = $4",
             experiment, user, set.name, set.digest)
      .front()
      .integer(0);
}

}  // namespace

RunState run_state(const std::string& word) {
  if (const auto state = job::run_state_named(word)) return *state;
  std::string words;
  for (const job::RunStateEntry& known : job::kRunStates) words.append(words.empty() ? "" : ", ").append(known.word);
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[runs] '{}' is no state of a run; known are {}", word.substr(0, 40), words));
}

Run create_run(Database& database, const NewRun& run) {
  const auto experiment = database.first("SELECT deleted FROM experiments WHERE id = $1", run.experiment);
  if (!experiment)
    throw Refusal(RefusalKind::kNotFound, fmt::format("[runs] no experiment {}; search lists them", run.experiment));
  if (experiment->integer(0) != 0)
    throw Refusal(RefusalKind::kState,
                  fmt::format("[runs] experiment {} is deleted; restore it first", run.experiment));
  const std::string name = run.name.empty() ? random_run_name() : run.name, id = random_hex(32);
  check_name("run", name);
  const int64_t now = now_ms();
  const int64_t started = run.started_ms > 0 ? run.started_ms : run.state == RunState::kPending ? 0 : now;
  const int64_t number = database
                             .query(
                                 "INSERT INTO runs (id, experiment, name, user_name, state, reason, deleted, "
                                 "created_ms, started_ms, ended_ms, "
                                 "order_ms) VALUES ($1, $2, $3, $4, $5, '', 0, $6, $7, $8, $9) RETURNING number",
                                 id, run.experiment, name, run.user, to_string(run.state), now, started,
                                 ended(run.state) ? now : int64_t{0}, started > 0 ? started : now)
                             .front()
                             .integer(0);
  add_transition(database, number, {now, std::nullopt, run.state, ""});
  set_run_tags(database, id, run.tags);
  return std::move(runs_of(database, std::array{number}).front());
}

Run run(Database& database, const std::string& id) {
  return std::move(runs_of(database, std::array{run_number(database, id)}).front());
}

void update_run(Database& database, const std::string& id, const RunChange& change) {
  const int64_t number = run_number(database, id, true);
  if (change.name) {
    check_name("run", *change.name);
    database.query("UPDATE runs SET name = $2 WHERE number = $1", number, *change.name);
  }
  if (change.state)
    change_state(database, number, *change.state, change.reason, change.ended_ms.value_or(0));
  else if (change.ended_ms)
    database.query("UPDATE runs SET ended_ms = $2 WHERE number = $1", number, *change.ended_ms);
}

void set_run_deleted(Database& database, const std::string& id, bool deleted) {
  Connection& c = connection(database);
  if (c.memory) c.memory->forget(id);
  database.query("UPDATE runs SET deleted = $2 WHERE number = $1", run_number(database, id), int64_t{deleted});
}

void set_parameters(Database& database, const std::string& id, const Tags& parameters) {
  const int64_t number = run_number(database, id, true);
  Tags before;
  for (const auto& [key, value] : parameters) {
    check_tag("parameter", key, value);
    const auto row = database.first("SELECT value FROM parameters WHERE run = $1 AND key = $2", number, key);
    if (!row) continue;
    if (row->text(0) != value)
      throw Refusal(
          RefusalKind::kInvalid,
          fmt::format("[runs] parameter '{}' of run '{}' was '{}' before and cannot become '{}' (parameters never "
                      "change); start a new run, or use a tag",
                      key, id, row->text(0).substr(0, 100), value.substr(0, 100)));
    before[key] = value;
  }
  if (before.size() == parameters.size()) return;
  check_count("parameters",
              count_of_run(database, "parameters", number) + static_cast<int64_t>(parameters.size() - before.size()),
              kNamesOfRunMax);
  for (const auto& [key, value] : parameters)
    if (!before.contains(key))
      connection(database).post("INSERT INTO parameters (run, key, value) VALUES ($1, $2, $3)", number, key, value);
}

void set_run_tags(Database& database, const std::string& id, const Tags& tags) {
  const int64_t number = run_number(database, id, true);
  for (const auto& [key, value] : tags) check_tag("tag", key, value);
  const int64_t before = count_of_run(database, "run_tags", number);
  for (const auto& [key, value] : tags)
    connection(database).post(
        "INSERT INTO run_tags (run, key, value) VALUES ($1, $2, $3) "
        "ON CONFLICT (run, key) DO UPDATE SET value = excluded.value",
        number, key, value);
  if (before + static_cast<int64_t>(tags.size()) <= kNamesOfRunMax) return;
  check_count("tags", count_of_run(database, "run_tags", number), kNamesOfRunMax, before);
}

void delete_run_tag(Database& database, const std::string& id, const std::string& key) {
  const int64_t number = run_number(database, id, true);
  if (database.query("DELETE FROM run_tags WHERE run = $1 AND key = $2 RETURNING key", number, key).empty())
    throw Refusal(RefusalKind::kNotFound, fmt::format("[runs] run '{}' has no tag '{}'", id, key));
}

void add_inputs(Database& database, const std::string& id, const std::vector<DataSet>& inputs) {
  const int64_t number = run_number(database, id, true);
  const Row run = database.query("SELECT experiment, user_name FROM runs WHERE number = $1", number).front();
  const int64_t before = count_of_run(database, "inputs", number);
  for (const DataSet& set : inputs) {
    for (const auto& [key, value] : set.tags) check_tag("tag", key, value);
    const int64_t data_set = data_set_number(database, run.integer(0), run.text(1), set);
    database.query("INSERT INTO inputs (run, data_set) VALUES ($1, $2) ON CONFLICT (run, data_set) DO NOTHING", number,
                   data_set);
    for (const auto& [key, value] : set.tags)
      database.query(
          "INSERT INTO input_tags (run, data_set, key, value) VALUES ($1, $2, $3, $4) "
          "ON CONFLICT (run, data_set, key) DO UPDATE SET value = excluded.value",
          number, data_set, key, value);
  }
  check_count("data sets", count_of_run(database, "inputs", number), kInputsOfRunMax, before);
}

std::vector<Transition> transitions(Database& database, const std::string& id) {
  std::vector<Transition> all;
  for (const Row& row : database.query("SELECT time_ms, from_state, to_state, reason FROM transitions WHERE run = $1 "
                                       "ORDER BY CASE WHEN from_state = '' THEN 0 ELSE 1 END, number",
                                       run_number(database, id)))
    all.push_back({row.integer(0), row.text(1).empty() ? std::nullopt : std::optional(run_state(row.text(1))),
                   run_state(row.text(2)), row.text(3)});
  return all;
}

}  // namespace linac::catalog
