#pragma once
// A training run from its first step to its last, as one worker sees it. All workers of the group call run_training()
// for the same job; rank 0 alone writes the run's folder. Workers may be lost and join: a step that some have not
// finished is done again in the next view of the group (train/comm/membership/view.h), from the state that the
// survivors hold in memory.

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/train/loops/computing.h"
#include "linac/train/train/record/record_keeper.h"
#include "linac/train/train/record/trace_steps.h"
#include "linac/train/trained/compiled_job.h"

namespace linac::train {

struct TrainingOptions {
  std::filesystem::path folder;  // of the run; only rank 0 looks at it
  Start start = Start::kFresh;
  Computing computing = 1;                // of this worker
  bool joins = false;                     // a run that others have begun
  std::filesystem::path started_in = {};  // the working folder of that begin
  std::string name = {};                  // what people call the folder: its path, or the URL where it is kept
  bool accept_data = false;               // a state goes on with other files than those it was trained on
  std::string claim = {};                 // the token of the folder's claim, if this or its parent process has it
  std::optional<TraceSteps> trace = {};   // rank 0's counts
  std::function<void()> on_begin = {};    // called once, when it takes part: from here on it looks at signals itself
};

/// What `train` can know about a job before any step: looks for the device, opens and scans the data, compares shapes
/// and sizes. Throws what would fail later. `read`: see make_loop().
void check_job(const job::Job& job, const trained::KerasFile* read = nullptr);

/// Runs the job to its end. Throws Error: kNumeric on collapse (after the last good checkpoint was kept), kPreempted
/// when asked to stop and kBudget when that is used up (after a checkpoint), kPeerLost and kLostQuorum if the run
/// cannot go on, kData, kEnvironment; the others have been told then. A worker's environment error ends its own part
/// only. `read`: see make_loop().
void run_training(const job::Job& job, comm::Group& group, const TrainingOptions& options,
                  std::shared_ptr<const trained::KerasFile> read = {});

}  // namespace linac::train
