#pragma once
// What base/plan/scaling.h needs to know of a job: the messages of its updates, as the loop tells them
// (train/train/loops/loop_steps.h), with the times at which they are there.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/base/plan/scaling.h"

namespace linac::cli {

/// A step of `replicas` replicas of the job in `file`, which takes `step_s` on a host with as many cores as this one.
/// Opens the job's training data.
plan::Step planned_step(const std::string& file, std::vector<std::string> overrides, int replicas, double step_s);

/// What a training of the job in `file` is, as a planner needs it.
struct JobOutline {
  std::vector<plan::Update> updates;  // of a step of `replicas` replicas on one worker
  double flop = 0;                    // of a step of one replica, about: three times those of all passes forward
  int64_t steps = 0, epochs = 0;      // of the whole training, with its own number of replicas
  int64_t events = 0;                 // of an epoch; 0: not known
};
/// Opens the job's training data.
JobOutline outline_of(const std::string& file, const std::vector<std::string>& overrides, int replicas, double step_s);

/// Cores that compute such a step side by side; 0: a GPU does.
int computing_cores(const std::string& file, std::vector<std::string> overrides, int replicas);

}  // namespace linac::cli
