#pragma once
// A run as a measurement: what its record tells of one worker's steps takes the place of a short training. Pure,
// thread-safe.

#include <optional>
#include <string>

#include "linac/base/job/run_history.h"
#include "linac/base/plan/past_run.h"

namespace linac::plan {

struct MeasuredRun {
  std::optional<Measured> measured;
  std::string why_not;
};
/// Without updates where an older linac has written the record: what several workers exchange is not known then.
MeasuredRun measured_by(const FoundRun& run, const job::RunRecord& record);

}  // namespace linac::plan
