#pragma once
// Requests to stores that end early, because whoever waits for them has been asked to stop. For work that has nothing
// to save; a training reads on to its checkpoint. Of the whole process. Thread-safe.

#include <chrono>

namespace linac::storage {

/// From now on `asked` is asked about once a second in every request to a store, and before each further attempt. When
/// it says so, they fail with ErrorCode::kPreempted.
void break_off_when(bool (*asked)());

/// True, for net::HttpSettings; fails if it is time.
bool need_to_go_on();

/// Waits so long; fails when it is time.
void wait_for_store(std::chrono::milliseconds time);

}  // namespace linac::storage
