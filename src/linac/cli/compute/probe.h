#pragma once
// A short training that measures what `linac plan` needs of a job on this host. From the main thread only.

#include <string>
#include <vector>

#include "linac/base/plan/measured.h"

namespace linac::cli {

/// Short trainings in a folder that goes away: one that makes steps; the start of two workers; and one of a few short
/// epochs, for test and end. All together take about `seconds`; a step that takes longer is waited for. Shows
/// its progress. With another batch its steps as well (batch_law.h), for a part of the time more; 0: none.
/// Environment error with the training's own words if it fails; ends with Error of kPreempted at a signal.
plan::Measured probe(const std::string& job, const std::vector<std::string>& overrides, double seconds,
                     int64_t other_batch = 0);

}  // namespace linac::cli
