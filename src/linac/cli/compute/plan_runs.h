#pragma once
// What runs on this disk teach a planner: how long a job's steps took here, and how far plans were off.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/plan/forecast.h"
#include "linac/base/plan/measured.h"
#include "linac/physics/report/run/actual.h"

namespace linac::cli {

/// A run that was planned, and what came of it.
struct PlannedRun {
  std::string folder, name, on, status;
  job::Planned planned;
  report::RunActual actual;
};

/// The folder of a run, with its job, and work_digest() and kin_digest() of that.
struct FoundRun {
  std::filesystem::path folder;
  job::Job job;
  std::string work, kin;
};
/// The runs below each of `folders` (one level down), or in it, or the trials of a study that it is, in the order of
/// their names. What is no run is passed
/// over. User error for what is no folder.
std::vector<FoundRun> runs_in(const std::vector<std::string>& folders);

struct RunsBefore {
  std::vector<PlannedRun> planned;
  std::optional<plan::Measured> measured;  // the newest run of the same work on this host
  std::string measured_in;                 // its folder
};

/// A damaged run is passed over. `job`: that is planned; null: no measurement is looked for. Runs of the same work with
/// other batches tell how its steps grow with the batch; two of them are a measurement, too (batch_law.h).
RunsBefore runs_before(const std::vector<FoundRun>& runs, const job::Job* job);

/// From a run's record. User error if it has no step, or its workers' times are not told.
plan::Measured measured_by_run(const std::filesystem::path& folder);

/// Of the runs that were planned for this place, if there are three: a place that is not what is said of it shows. Else
/// of all.
plan::Experience experience_of(const std::vector<PlannedRun>& runs, const std::string& place = "");

/// Steps until a measure of the test was as good as wanted, of runs with the same work: "test auc >= 0.98".
struct GoalWish {
  std::string part, measure;  // "test" (or "train", "physics"), "auc"
  bool at_least = true;
  double value = 0;
};
/// User error for anything else.
GoalWish parse_goal(const std::string& text);
/// From the curves of runs of the same work with as many replicas. Nothing where none reached it.
std::optional<plan::Goal> steps_to(const GoalWish& goal, const std::vector<FoundRun>& runs,
                                   const plan::Measured& measured);

}  // namespace linac::cli
