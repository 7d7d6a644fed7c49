#pragma once
// The learning rate as a pure function of the position. Thread-safe.

#include <cstdint>

#include "linac/base/job/job.h"

namespace linac::train {

/// Rate of step `step` of epoch `epoch` (both from 0): optimizer.lr x scaling with replicas x warm-up x drops x decay x
/// collapse.lr_factor for each rollback so far. Linear scaling and warm-up: Goyal et al., "Accurate, large minibatch
/// SGD", arXiv:1706.02677.
double learning_rate(const job::Train& train, int64_t epoch, int64_t step, int64_t steps_per_epoch, int rollbacks);

}  // namespace linac::train
