#pragma once
// What a run takes over from one that was before: a resumed one its mathematics, a branch its newest state.
// Thread-safe functions.

#include <filesystem>
#include <string>

#include "linac/base/job/job.h"

namespace linac::train {

/// A resumed run goes on with the same mathematics; what is free to change is no difference. User error naming the
/// first one, and the run as `folder`.
void need_same_numerics(const job::Job& now, job::Job then, const std::string& folder);

/// A new run in `to` that begins with the newest state of the one in `from`; job.yaml, which the caller writes after
/// it, says that it is there. Does nothing where `to` holds a run already. User error if the jobs differ in more than a
/// branch may, or there is no checkpoint; data error for one that cannot be read.
void branch_off(const job::Job& job, const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace linac::train
