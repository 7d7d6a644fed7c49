#pragma once
// The cell_chain of a training: what its checkpoints call the parts of it, the model that draws showers, and one that a
// training goes on from.
// Thread-safe functions.

#include <optional>

#include "linac/base/job/job.h"
#include "linac/model/chain/chain_file.h"
#include "linac/train/trained/model_file.h"

namespace linac::trained {

/// The networks of its state.
inline constexpr const char *kChainNetwork = "cell_chain", *kChainTables = "tables";

bool is_chain_run(const job::Job& job);

/// Of a checkpoint of such a run. Data error naming it if it does not hold one.
chain::ChainFile chain_of(const Checkpoint& checkpoint);

/// What a cell_chain's training goes on from: the model in model.file, a .chain file or a checkpoint; nothing if the
/// job names none. User error for one of another kind, and for one whose networks are not those of the job or of a
/// calorimeter with `layers` layers.
std::optional<chain::ChainFile> chain_start_of(const job::Job& job, int64_t layers);

}  // namespace linac::trained
