#pragma once
// A group whose ranks are threads of one process: the transport for tests of everything above it. The returned groups
// share mailboxes and may be used by one thread each. Destroying one (or a failure in it) ends it for the others.

#include <chrono>
#include <memory>
#include <vector>

#include "linac/train/comm/group.h"

namespace linac::comm {

/// Groups of rank 0..size-1. `timeout` bounds every wait. `shares`: the replicas that each rank carries; empty: evenly.
std::vector<std::unique_ptr<Group>> make_in_process_groups(int size, std::chrono::milliseconds timeout,
                                                           const std::vector<int>& shares = {});

}  // namespace linac::comm
