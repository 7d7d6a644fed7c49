#pragma once
// How a worker tells the launcher that started it why it fails: one message through an inherited socket that
// LINAC_ERROR_FD names. A process without such a launcher says nothing here. Thread-safe.

#include <string>
#include <string_view>

#include "linac/base/base/error.h"

namespace linac::launch {

inline constexpr const char* kErrorFdVariable = "LINAC_ERROR_FD";

/// Call in the worker's main with its final error and the exit status that follows; the first call counts. Never blocks
/// or throws.
void report_worker_error(std::string_view what, int exit_code) noexcept;
void report_worker_error(const Error& error) noexcept;

/// The launcher's side: the message waiting at `descriptor`, or "" when the worker left none. Does not block.
std::string received_worker_error(int descriptor);

}  // namespace linac::launch
