#pragma once
// Mistakes in a job file, told before LibTorch is loaded.

#include <optional>

namespace linac::cli {

/// The exit status of a line `linac train JOB` or `linac check JOB` whose job cannot be read, with the error reported
/// as the verb itself would. Nothing where the job is good, and where the line has words that may change what the job
/// says, or that only the verb knows: that is for the verb to tell. For the main thread, before others exist.
std::optional<int> status_of_wrong_job(int argc, char** argv);

}  // namespace linac::cli
