#pragma once
// Whether all workers hold the same networks. They apply the same updates, so they do, unless the memory or the
// processor of one has erred; then whatever is written would depend on who writes it.

#include "linac/train/comm/group.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// Collective: compares the bits of the networks, and of what a rule of exchange keeps for all. Environment error on
/// all ranks, with the ranks and hosts whose bits are not those of most; where no bits have more than half of the
/// ranks, with all.
void need_same_state(comm::Group& group, const TrainState& state);

}  // namespace linac::train
