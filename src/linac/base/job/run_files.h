#pragma once
// Which files of a run's folder (docs/reference/run-folder.md) go with it where it is kept elsewhere, by their names
// below it. The workers' key and addresses are not among them. Pure, thread-safe.

#include <string_view>

namespace linac::job {

inline constexpr const char* kCheckpointsFolder = "checkpoints";

/// What a resume needs, and what others read: job, record, checkpoints, curves, pictures, models, scores of the test,
/// trace, log.
bool is_kept_file(std::string_view name);
/// What comes to a service of a run elsewhere: these, and its reports.
bool is_handed_in(std::string_view name);
/// Whole when it appears, and never changed; of two the later one has the larger name.
bool is_snapshot(std::string_view name);

}  // namespace linac::job
