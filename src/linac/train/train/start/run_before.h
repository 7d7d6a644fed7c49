#pragma once
// What a run takes over from one that was before: a resumed one its mathematics, a branch its newest state.
// Thread-safe functions.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/job/job.h"

namespace linac::train {

/// A resumed run goes on with the same mathematics; what is free to change is no difference. User error naming the
/// first one, and the run as `folder`.
void need_same_numerics(const job::Job& now, job::Job then, const std::string& folder);

/// Checkpoints by their names in the order in which they are to be written, the newest state last: whoever finds it
/// finds those that it speaks of.
using BranchFiles = std::vector<std::pair<std::string, std::string>>;
/// What a new run begins with that goes on from the newest state of the one in `from`. User error if the jobs differ in
/// more than a branch may, or there is no checkpoint; data error for one that cannot be read.
BranchFiles files_of_branch(const job::Job& job, const std::filesystem::path& from);
/// Writes them into the folder of the new run. job.yaml, which the caller writes after them, says that they are there.
void begin_branch(const BranchFiles& files, const std::filesystem::path& to);

}  // namespace linac::train
