#pragma once
// What starts a run, and with it a worker of it: fresh, resumed, as a branch of another one, or joining one that goes
// on; alone, as the one that starts local workers, or as one of a group that somebody else started. In this folder:
//
//   run_start     which of these it is, and its way to run_training()
//   run_place     where the run's folder lies, a path or a URL, decided once; the folder made and kept
//   run_before    what a run takes over from one before: the mathematics of a resumed one, the state of a branch
//   worker        what a worker computes with and whom it meets
//   worker_range  "4" and "2:4"

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/trained/compiled_job.h"

namespace linac::train {

/// As people ask for it (`linac train`).
struct RunStart {
  std::string job, out;  // by path or URL; job: empty for one that joins by a folder
  std::string workers;   // worker_range.h; empty: the job's
  std::string join, listen, branch;
  std::string trace;                      // record/trace_steps.h; empty: none
  bool resume = false, or_start = false;  // or_start: where there is no run yet, too
  bool take_over = false, accept_data = false;
  std::vector<std::string> overrides;
  // Of a worker that `linac train` has started: the folder is made, and somebody else keeps it at this URL, if at any.
  bool launched = false;
  std::string mirrored, claim;  // likewise has it claimed: the claim's token
};

/// Whoever joins a run by its folder, without a job file, works where the run was started: the job, which checkpoints
/// hold, stays as it is written there. On another host that folder may not be there; then its paths count from this
/// one. Changes the working folder of the process.
RunStart where_the_run_was_started(RunStart start);

/// The file of the job and what it is overridden with. User error if there is none.
std::filesystem::path job_file(const RunStart& start);
std::vector<std::string> job_overrides(const RunStart& start);

/// Called once with the run's folder where this process or its workers keep the record; what it returns lives until
/// the training is over.
using KeepTrack = std::function<std::shared_ptr<void>(const std::filesystem::path& folder)>;
/// Called once by the same process when the training has come to its end, before its folder is left: what it adds to
/// the folder is kept, too. `name`: what people call the run.
using AtEnd = std::function<void(const std::filesystem::path& folder, const std::string& name)>;
struct Company {
  KeepTrack keep_track;
  AtEnd at_end;
};

/// Runs the job as a process of this surrounding: to the end, or throws as run_training(). `whole`: of job_file().
/// Returns the exit status of the local workers, if it started some; else 0.
int start_run(const RunStart& start, const comm::Rendezvous& rendezvous, trained::CompiledJob whole,
              const Company& company);

}  // namespace linac::train
