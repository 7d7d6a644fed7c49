#pragma once
// The tables that a run ends with on the terminal. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/base/job/run_record.h"
#include "linac/train/train/loops/loop_words.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// A line an epoch, with these measures of training and test. Empty without an epoch.
std::string epoch_table(const std::vector<Column>& columns, const std::vector<EpochRecord>& history);

/// A line a worker: its seconds by phase.
std::string phase_table(const std::vector<job::WorkerAccount>& workers);

/// A line: where the time of a step went, over all workers. Empty without a step.
std::string step_line(const std::vector<job::WorkerAccount>& workers);

}  // namespace linac::train
