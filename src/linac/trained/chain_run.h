#pragma once
// The cell_chain of a training: what its checkpoints call the parts of it, and the model that draws showers.
// Thread-safe functions.

#include "linac/spec/job.h"
#include "linac/chain/chain_file.h"
#include "linac/trained/model_file.h"

namespace linac::trained {

/// The networks of its state.
inline constexpr const char *kChainNetwork = "cell_chain", *kChainTables = "tables";

bool is_chain_run(const spec::Job& job);

/// Of a checkpoint of such a run. Data error naming it if it does not hold one.
chain::ChainFile chain_of(const Checkpoint& checkpoint);

}  // namespace linac::trained
