#pragma once
// How a verb that reads files is stopped.

#include <functional>

namespace linac::cli {

/// From now on a signal to stop lets it end between two pieces of work, where the result asks, and breaks off requests
/// to stores that do not answer.
std::function<bool()> asked_to_stop();

}  // namespace linac::cli
