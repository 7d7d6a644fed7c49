#pragma once
// The state of a training on its way to workers that lack it: as it lies in memory, without the form of a file.

#include <span>

#include "linac/train/comm/group.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// How far it has come, as the other workers are told.
comm::Moment moment_of(const TrainState& state);

/// Collective among `ranks`, who alone call it: the state of the first becomes that of the others, bit by bit. All have
/// one of the same model and optimiser; of what differs between ranks, ExchangeState::own, nothing is sent. kPeerLost
/// as in all exchanges, and the state is as it was.
void share_state(comm::Group& group, std::span<const int> ranks, TrainState& state);

}  // namespace linac::train
