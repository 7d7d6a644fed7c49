#pragma once
// What the end of an attempt means for its job. Pure.

#include <string>

#include "linac/control/catalog/queue.h"
#include "linac/control/launch/launcher.h"

namespace linac::execution {

/// Why the service itself ended it.
enum class StopCause { kNone, kCancelled, kTimeUsedUp, kCostUsedUp };

struct AttemptVerdict {
  catalog::Outcome outcome = catalog::Outcome::kLost;
  std::string reason;
};

/// `status` is kEnded or kLost; `began`: the run has made a step, in this attempt or one before; `told`: what it says
/// of its failure, or "". Who refuses the job or its data before the first step was not checked well enough: kRefused.
/// By the classes of base/job/exit_codes.h: interrupted, or lost for a reason of its machine, is tried again; what is
/// the user's, the data's or the mathematics' is not.
AttemptVerdict judge(const launch::AttemptStatus& status, StopCause cause, bool began, const std::string& told);

}  // namespace linac::execution
