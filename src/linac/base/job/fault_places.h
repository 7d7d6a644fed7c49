#pragma once
// Where a fault made on purpose (train.audit.fault.in) turns a bit over: one table, which the check of a job, its help
// and who makes the fault (train/train/audit/fault.h) go by. Pure, thread-safe.

#include <string>
#include <vector>

namespace linac::job {

enum class FaultPlace { kNone, kBatch, kActivation, kGradient, kWeights, kMessage, kCheckpoint };

/// By number of the place, as a job names them.
std::vector<std::string> fault_places();
/// Invariant: `name` is one of them.
FaultPlace fault_place(const std::string& name);
/// All with what they are.
const char* fault_places_help();

}  // namespace linac::job
