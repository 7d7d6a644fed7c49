#pragma once
// Jobs as the tables have them, and the order in which they are to start. Private to the module.

#include <string>
#include <vector>

#include "linac/control/catalog/queue.h"

namespace linac::catalog {

struct Job {
  int64_t number = 0;
  int64_t attempts_before = 0;  // of the last resume(): these do not count against the limit
  QueuedJob job;
};

/// Whether a job in this state is to be started.
inline bool waits(RunState state) {
  return state == RunState::kPending || state == RunState::kRecovering;
}

Job job_of(Database& database, const std::string& run);  // kNotFound
/// All that have not ended, those to be started first in front, with what holds them.
std::vector<Job> queue_at(Database& database, int64_t now_ms);

}  // namespace linac::catalog
