#pragma once
// What train/plan/scaling.h needs to know of a job: the messages of its updates, as the loop tells them
// (train/train/loops/loop_steps.h), with the times at which they are there.

#include <string>
#include <vector>

#include "linac/train/plan/scaling.h"

namespace linac::cli {

/// A step of `replicas` replicas of the job in `file`, which takes `step_s` on a host with as many cores as this one.
/// Opens the job's training data.
plan::Step planned_step(const std::string& file, std::vector<std::string> overrides, int replicas, double step_s);

/// Cores that compute such a step side by side; 0: a GPU does.
int computing_cores(const std::string& file, std::vector<std::string> overrides, int replicas);

}  // namespace linac::cli
