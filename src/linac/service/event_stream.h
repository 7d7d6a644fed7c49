#pragma once
// Waiting for a run's news within a coroutine.

#include <memory>
#include <string>
#include <vector>

#include "linac/service/hub.h"
#include "linac/service/route.h"

namespace linac::service {

/// The events that there are, or the next that come; a comment as a sign of life if none come for a while.
Task<std::vector<std::shared_ptr<const std::string>>> next_events(Subscription& subscription);

}  // namespace linac::service
