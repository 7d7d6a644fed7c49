#pragma once
// Starts an attempt's command: its account, limits, environment and output. Private to the module.

#include <string>

#include "linac/base/descriptor.h"
#include "linac/launch/command.h"

#include <sys/types.h>

namespace linac::launch {

struct Started {
  pid_t pid = 0;        // leader of a process group of its own; with a sandbox, the process that waits for it
  std::string problem;  // why there is none
  Descriptor told{};    // with a sandbox: first_process() is told here (sandbox.h)
};
/// The process waits before it executes the command, until something is written to `gate`, the writing end of a pipe
/// that the caller closes; closed unwritten, it ends the process. So nothing runs that has not been written down.
Started start_command(const Command& command, const std::string& attempt, int& gate);

}  // namespace linac::launch
