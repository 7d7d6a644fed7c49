#pragma once
// What earlier runs teach a planner, of folders and of services. From the main thread only.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/past_run.h"

namespace linac::cli {

/// The runs below each of `places` (one level down), or in it, or the trials of a study that it is, in the order of
/// their names; or those of the service at this address. What is no run, or damaged, is passed over. `kin`: of the job
/// that is planned (kin_digest()), for which the goal is asked; empty: none. User error for what is neither a folder
/// nor an address.
std::vector<plan::PastRun> past_runs(const std::vector<std::string>& places, const std::string& kin,
                                     const std::string& goal);

/// From a run's record. User error if it has no step, or its workers' times are not told.
plan::Measured measured_by_run(const std::filesystem::path& folder);

}  // namespace linac::cli
