#pragma once
// The events of a job, by its model.

namespace linac::cli {

/// provide() of cli/data/data_of_job.h.
void provide_events_of_jobs();

}  // namespace linac::cli
