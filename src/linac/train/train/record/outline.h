#pragma once
// What the record of a run says of its training for plans: the messages of its updates, with the times at which they
// are there, and how much is computed. Pure, thread-safe.

#include "linac/base/job/job.h"
#include "linac/base/job/training_outline.h"
#include "linac/train/train/loops/loop_steps.h"

namespace linac::train {

/// Of a worker that carries `replicas`, all side by side. `state`: of this training, with its networks.
job::TrainingOutline outline_of(const job::Job& job, const LoopSteps& steps, const TrainState& state, int replicas,
                                int64_t steps_per_epoch);

}  // namespace linac::train
