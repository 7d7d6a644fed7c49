#pragma once
// What an audit of a training (train.audit) has found, in words. Pure, thread-safe.

#include <string>

#include "linac/base/job/group_lines.h"

namespace linac::job {

/// "rank 1 (n04, process 77) computes wrongly: replica 3 (computed by ranks 1, 0, 2) differs from ..."
std::string in_words(const AuditLine& line);
/// When an audit had found nobody before.
std::string clean_in_words(const AuditLine& line);

}  // namespace linac::job
