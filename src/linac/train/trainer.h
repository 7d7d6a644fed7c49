#pragma once
// A training run from its first step to its last, as one worker sees it. All workers of the group make a Trainer for
// the same job and call run(); rank 0 alone writes the run's folder.

#include <filesystem>

#include "linac/comm/group.h"
#include "linac/comm/rendezvous.h"
#include "linac/spec/job.h"

namespace linac::train {

enum class Start { kFresh, kResume };

struct RunOptions {
  std::filesystem::path folder;  // of the run; only rank 0 looks at it
  Start start = Start::kFresh;
  int concurrency = 1;  // replicas side by side on this worker
};

/// What `train` can know about a job before any step: looks for the device, opens and scans the data, compares shapes
/// and sizes. Throws what would fail later.
void check_job(const spec::Job& job);

/// Runs the job to its end. Throws Error: kNumeric on collapse (after the last good checkpoint was kept), kPreempted
/// when asked to stop (after a checkpoint), kPeerLost, kData, kEnvironment.
void run_training(const spec::Job& job, comm::Group& group, const RunOptions& options);

}  // namespace linac::train
