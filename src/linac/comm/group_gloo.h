#pragma once
// The TCP transport: c10d's ProcessGroupGloo. Its headers stay in the .cpp, as reading them takes ten seconds.

#include <chrono>
#include <memory>

#include "linac/comm/group.h"

namespace linac::comm {

/// See make_group; for sizes above 1. From here on SIGPIPE is ignored in this process, unless it has a handler.
std::unique_ptr<Group> make_gloo_group(const Rendezvous& rendezvous, std::chrono::milliseconds timeout);

}  // namespace linac::comm
