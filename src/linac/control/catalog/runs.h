#pragma once
// Runs: a training, an evaluation, or whatever a client records; with parameters, tags, metrics (metrics.h), inputs,
// states and every change of state with its time and reason.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/job/run_states.h"
#include "linac/control/catalog/experiments.h"
#include "linac/control/catalog/points.h"

namespace linac::catalog {

using job::ended;
using job::RunState;
using job::to_string;
/// kInvalid for a word that is none, naming those that are.
RunState run_state(const std::string& word);

struct MetricSummary {
  std::string key;
  Point last;  // the one with the largest step, of these the latest
  int64_t count = 0;
  double min = 0, max = 0;  // of the finite values; NaN if there are none
};

struct DataSet {
  std::string name, digest, source_type, source, schema, profile;
  Tags tags;  // of its use in this run, e.g. mlflow.data.context
};

struct Run {
  std::string id;  // 32 hexadecimal digits
  int64_t experiment = 0;
  std::string name, user;
  RunState state = RunState::kPending;
  std::string reason;  // of the last change of state
  bool deleted = false;
  int64_t created_ms = 0;
  int64_t started_ms = 0, ended_ms = 0;  // 0: not yet
  std::string artifact_uri;              // without the service's address: "mlflow-artifacts:/0/<id>/artifacts"
  Tags parameters, tags;
  std::vector<MetricSummary> metrics;
  std::vector<DataSet> inputs;
  std::vector<std::string> cut;  // "metrics", "parameters", "tags", "inputs": those of which there is more, in a list
};

struct NewRun {
  int64_t experiment = 0;
  std::string name, user;  // no name: one is made, like "calm-shower-417"
  RunState state = RunState::kRunning;
  int64_t started_ms = 0;  // 0: now, if it is running
  Tags tags{};
};

/// Where a run's artefacts are; `location` is its experiment's.
std::string run_artifacts(int64_t experiment, const std::string& location, const std::string& id);

/// kNotFound if the experiment is not there, kState if it is deleted.
Run create_run(Database& database, const NewRun& run);
/// With parameters, tags, metrics' summaries and inputs. kNotFound.
Run run(Database& database, const std::string& id);
/// Changes of the record itself; what is not set stays.
struct RunChange {
  std::optional<std::string> name;
  std::optional<RunState> state;
  std::string reason;
  std::optional<int64_t> ended_ms;  // with a state that ends it and none given: now
};
/// Records a change of state in the run's history. Any state may follow any other: the queue (queue.h) has rules of its
/// own.
void update_run(Database& database, const std::string& id, const RunChange& change);
void set_run_deleted(Database& database, const std::string& id, bool deleted);
/// kInvalid if one of them was set to another value before: a parameter never changes. kState on a deleted run.
void set_parameters(Database& database, const std::string& id, const Tags& parameters);
void set_run_tags(Database& database, const std::string& id, const Tags& tags);
/// kNotFound if the run has no such tag.
void delete_run_tag(Database& database, const std::string& id, const std::string& key);
void add_inputs(Database& database, const std::string& id, const std::vector<DataSet>& inputs);

struct Transition {
  int64_t time_ms = 0;
  std::optional<RunState> from;  // none: the run was made in state `to`
  RunState to;
  std::string reason;
};
std::vector<Transition> transitions(Database& database, const std::string& id);

struct RunSearch {
  std::vector<int64_t> experiments;  // none: all
  std::string filter;                // MLflow's language and OR, parentheses (filter.h)
  std::vector<std::string> order;    // "metrics.auc DESC", "params.lr", "start_time"; at last by start and id
  View view = View::kActive;
  int64_t limit = 1000;  // at most kSearchMax
  std::string token;
};
constexpr int64_t kSearchMax = 50000;
constexpr size_t kExperimentsOfSearchMax = 10000;
constexpr int64_t kNamesOfRunMax = 10000;  // metrics, parameters and tags of a run, each; kInvalid beyond
constexpr int64_t kInputsOfRunMax = 200;   // data sets
constexpr int64_t kNamesInListMax = 500;   // of a run's metrics, parameters and tags, each; run() has them all
constexpr int64_t kInputTextInListMax =
    16384;  // characters of a data set's schema or profile; longer ones are left out
/// The numbers of a page's runs, for runs_numbered(): a page that is read piece by piece.
Page<int64_t> search_run_numbers(Database& database, const Viewer& viewer, const RunSearch& search);
std::vector<Run> runs_numbered(Database& database, std::span<const int64_t> numbers);
/// Parameters, tags and metrics' summaries are with the runs of the page; read in a bounded number of statements.
Page<Run> search_runs(Database& database, const Viewer& viewer, const RunSearch& search);

}  // namespace linac::catalog
