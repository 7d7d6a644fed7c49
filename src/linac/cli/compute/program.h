#pragma once
// The command line as a function, so that tests and main() share it.

namespace linac::cli {

/// Parses, runs the verb, reports errors on standard error and returns the exit status (base/base/error.h has the
/// table).
int run_command_line(int argc, char** argv);

}  // namespace linac::cli
