#pragma once
// What the clients that watch a run are told. Thread-safe.

#include <string>

#include "linac/catalog/runs.h"
#include "linac/service/hub.h"

namespace linac::service {

/// Event "state": {"state", "reason", "time_ms"}.
void publish_state(Hub& hub, const std::string& run, catalog::RunState state, const std::string& reason);

}  // namespace linac::service
