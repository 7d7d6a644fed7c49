#pragma once
// Whether the processes of a run are still there, for who has no key to ask them yet. Thread-safe.

#include <chrono>
#include <span>
#include <string>

namespace linac::comm {

/// Whether somebody, a stranger perhaps, takes connections at one of these join addresses ("RUN@10.0.0.3:41233") within
/// `limit`. The first kListenersMax of them are tried, all at the same time. Environment error for a text that is none.
bool somebody_listens(std::span<const std::string> join_addresses, std::chrono::milliseconds limit);

inline constexpr size_t kListenersMax = 64;

}  // namespace linac::comm
