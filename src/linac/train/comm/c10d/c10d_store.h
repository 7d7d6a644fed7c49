#pragma once
// c10d's TCPStore as the meeting place of a run's workers. torchrun hosts one for those that it starts, so linac's own
// launchers do the same.

#include <memory>

#include "linac/train/comm/group.h"
#include "linac/train/comm/meeting/key_store.h"

namespace linac::comm {

const Stores& c10d_stores();

/// make_group() of group.h, at such a store.
std::unique_ptr<Group> make_group(const Rendezvous& rendezvous, const GroupSettings& settings);

}  // namespace linac::comm
