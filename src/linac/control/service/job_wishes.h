#pragma once
// What a request says of how its jobs are carried out, beside the job itself: the same words for a training and for a
// study's trials. Thread-safe functions.

#include <string>
#include <vector>

#include "linac/control/catalog/queue.h"
#include "linac/control/execution/running_attempt.h"
#include "linac/control/service/context.h"
#include "linac/control/service/http_words.h"

namespace linac::service {

/// Where a job file's paths are looked for, and what is overridden.
const std::vector<FieldRule>& job_text_fields();
/// priority, cores, ..., on, tags.
const std::vector<FieldRule>& wish_fields();
/// kInvalid for a priority beyond the range, kDenied for one that is for admins.
catalog::Wishes wishes_of(const Request& request);

/// What would be refused when its turn comes is not taken: kDenied, of jobs for this host.
void need_trust(Context& context, const execution::AttemptSettings& settings, const std::string& user);

}  // namespace linac::service
