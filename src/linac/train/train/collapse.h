#pragma once
// What is said of a step that is not (wholly) applied. Pure, thread-safe.

#include <string>

#include "linac/base/base/error.h"
#include "linac/base/job/job.h"
#include "linac/train/train/loops/loop_steps.h"

namespace linac::train {

struct Collapse {
  std::string what, where;  // "a loss or gradient is not finite"; epoch, step, replicas, layer
};

/// `state`: before the step.
Collapse collapse_of(const TrainState& state, const StepResult& result);

/// The end of a training that goes back no more.
Error collapse_error(const job::Job& job, const TrainState& state, const StepResult& result, bool has_checkpoint);

}  // namespace linac::train
