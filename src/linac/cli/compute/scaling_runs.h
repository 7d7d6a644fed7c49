#pragma once
// Trainings as child processes for `linac bench scaling`: one of N workers, or N of one worker side by side, timed from
// outside by the lines of their metrics.jsonl. From the main thread only.

#include <filesystem>
#include <string>
#include <vector>

#include "linac/base/job/run_record.h"

namespace linac::cli {

struct ScalingRun {
  std::string job;
  std::vector<std::string> overrides;  // as of --set
  int workers = 1;
  int replicas_per_worker = 1;
  int steps = 5;
  int settle_steps = 1;  // not timed: connections are made, memory is taken
};

/// What N workers did, together or each for itself.
struct ScalingTimes {
  double replica_steps_per_s = 0;  // of all
  std::vector<job::WorkerAccount> workers;
};

/// One training of run.workers workers and run.workers x run.replicas_per_worker replicas, in `folder`.
ScalingTimes train_together(const ScalingRun& run, const std::filesystem::path& folder);
/// As many trainings of one worker and run.replicas_per_worker replicas, timed while all of them go on.
ScalingTimes train_apart(const ScalingRun& run, const std::filesystem::path& folder);

}  // namespace linac::cli
