#pragma once
// Which run a state is of. The id of a run follows from its job, and of a branch from the checkpoint it began with as
// well: so a checkpoint is the same, byte for byte, wherever it was computed. It is drawn up once, as a later linac may
// write the job otherwise, and stays in run.json and in the checkpoints. Thread-safe functions.

#include <filesystem>
#include <string>

#include "linac/base/job/job.h"
#include "linac/train/train/record/run_folder.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// Of a run that begins with this job.
Lineage begun_lineage(const job::Job& job);

/// What a checkpoint says of its run.
struct CheckpointOrigin {
  Lineage lineage;
  std::string job;
};
/// Of the run in this folder, which goes on from the checkpoint in `file`. User error if that is of another run.
Lineage lineage_in(const RunFolder& folder, const job::Job& job, const std::filesystem::path& file,
                   const CheckpointOrigin& origin);

}  // namespace linac::train
