#pragma once
// What runs teach a planner: how long a job's steps took somewhere, how far plans were off, and after how many steps a
// measure was good. A run is read from its folder; as JSON it travels between a service and who plans. Functions and
// types are thread-safe for different objects.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/run_actual.h"
#include "linac/base/plan/forecast.h"
#include "linac/base/plan/measured.h"

namespace linac::plan {

/// The folder of a run, with its job, and work_digest() and kin_digest() of that.
struct FoundRun {
  std::filesystem::path folder;
  job::Job job;
  std::string work, kin;
};
/// Nothing where no run of linac has left its record, or its job cannot be read.
std::optional<FoundRun> find_run(const std::filesystem::path& folder);

/// Until a measure of an epoch is so good: "test auc >= 0.98".
struct GoalWish {
  std::string part, measure;  // "test" (or "train", "physics"), "auc"
  bool at_least = true;
  double value = 0;
};
/// User error for anything else.
GoalWish parse_goal(const std::string& text);

struct PastRun {
  std::string where;  // its folder, or its id at a service
  std::string name, status, work, kin;
  int replicas = 1;                  // of its job
  job::Planned planned;              // empty if it was not
  job::RunActual actual;             // what came of it
  std::optional<Measured> measured;  // by its steps
  std::string why_not;               // measured: "it had several workers"
  std::optional<double> reached;     // steps until the goal that was asked for
};
/// Nothing for a record that cannot be read. With `goal`, how many steps it took.
std::optional<PastRun> read_past_run(const FoundRun& run, const std::optional<GoalWish>& goal = std::nullopt);

/// {"where", "name", "status", "work", "kin", "replicas", "planned": {"on", "start_s", "step_s", "jitter", "hours",
/// "kwh", "co2_kg"}, "actual": {"start_s", "step_s", "jitter", "hours", "kwh", "co2_kg"}, "measured" (measured.h),
/// "why_not", "reached"}; what is not known is null.
nlohmann::json to_json(const PastRun& run);
/// User error naming `where` for what is no such object.
PastRun past_run_from(const nlohmann::json& json, const std::string& where);

/// A measurement by runs.
struct KnownRun {
  Measured measured;
  std::string where, name;  // of the run
};
/// By the newest runs of this job's work on the host, or of the newest host first where `host` is empty: each host
/// once. Runs of the same work with other batches tell how its steps grow with the batch; two of them are a
/// measurement, too (batch_law.h).
std::vector<KnownRun> measured_by_runs(const std::vector<PastRun>& runs, const job::Job& job,
                                       const std::string& host = "");

/// Of the runs that were planned for this place, if there are three: a place that is not what is said of it shows. Else
/// of all.
Experience experience_of(const std::vector<PastRun>& runs, const std::string& place = "");

/// All of the job.
Goal all_steps(const Measured& measured);
/// From runs of the same work with as many replicas, for which the goal was asked. Nothing where none reached it.
std::optional<Goal> steps_to(const GoalWish& goal, const std::vector<PastRun>& runs, const Measured& measured);
/// Why the plan is for all steps after all; `looked_in`: where runs were looked for.
std::string not_reached(const std::string& goal, const std::string& looked_in);

}  // namespace linac::plan
