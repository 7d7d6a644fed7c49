#pragma once
// A bridge from callbacks to coroutines.

#include <exception>
#include <functional>

#include "linac/control/http/routes/route.h"

namespace linac::http {

using Finish = std::function<void(std::exception_ptr)>;

/// Calls `begin` with a function that is to be called once, from any thread, when something is done; then goes on, on
/// the thread of the coroutine, or throws what that function was given.
Task<void> awaited(std::function<void(Finish)> begin);

}  // namespace linac::http
