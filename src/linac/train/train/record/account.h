#pragma once
// What workers say of their time, for the record. Thread-safe functions.

#include <vector>

#include "linac/base/job/run_record.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/record/phase_clock.h"

namespace linac::train {

/// A worker's account of itself: host, process, seconds by phase, what it has sent.
job::WorkerAccount account_of(const PhaseClock& clock, const comm::Traffic& traffic);

/// What the members told last, of those that were heard.
std::vector<job::WorkerAccount> accounts_of(const comm::Group& group);

}  // namespace linac::train
