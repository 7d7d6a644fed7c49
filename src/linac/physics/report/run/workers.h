#pragma once
// The workers of one start of a run, from its views and accounts. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/report/run/report.h"

namespace linac::report {

/// By entry. Slowness is judged within each moment of the accounts.
std::vector<RunWorker> workers_of(const RunRecord& record, size_t start);

/// Why a worker was lost: what the log says of it, or why the next view began.
std::string reason_of(const RunRecord& record, const WorkerKey& worker, const std::string& why);

}  // namespace linac::report
