#pragma once
// What nobody else may see, from who calls a verb: never an argument, those are seen by all users of a host. One
// thread.

#include <string>

namespace linac::cli {

/// One line from a terminal, without echo, after `prompt`; else all of standard input, as it is.
std::string secret_input(const std::string& prompt, size_t bytes_max);
/// The content of a file. User error for a pipe or a device, which are not waited for, and for more
/// than `bytes_max`.
std::string secret_file(const std::string& path, size_t bytes_max);

}  // namespace linac::cli
