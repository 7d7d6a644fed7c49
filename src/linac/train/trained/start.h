#pragma once
// What a training goes on from, as one file. Thread-safe function.

#include "linac/base/job/job.h"

namespace linac::trained {

/// The job with model.file as the one file that the training goes on from: of a run's folder its best checkpoint, else
/// the newest, which model.from names then as well. Of kinds that go on from no run (job::TrainedStart), and without
/// a model.file, the job as it is. User error if there is none.
job::Job with_start(job::Job job);

}  // namespace linac::trained
