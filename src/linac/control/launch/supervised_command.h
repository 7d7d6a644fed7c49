#pragma once
// Starts an attempt's command: its account, limits, environment and output. Private to the module.

#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/control/launch/command.h"

#include <sys/types.h>

struct passwd;

namespace linac::launch {

struct Started {
  pid_t pid = 0;        // leader of a process group of its own; with a sandbox, the process that waits for it
  std::string problem;  // why there is none
  Descriptor told{};    // with a sandbox: first_process() is told here (sandbox.h)
};
/// What only the command itself gets of its secrets.
struct Given {
  std::vector<std::pair<std::string, std::string>> variables;
  Descriptor output{};  // where it prints; empty: into its log
};

/// The log, to be written at its end. Without a value (errno) if it cannot be.
Descriptor open_log(const Command& command);
/// The account of the host that the command becomes; null: the one of this process. `problem` says why there is none.
const passwd* account_of(const Command& command, std::string& problem);

/// The process waits before it executes the command, until something is written to `gate`, the writing end of a pipe;
/// closed unwritten, it ends the process. So nothing runs that has not been written down.
Started start_command(const Command& command, const std::string& attempt, const Given& given, Descriptor& gate);

}  // namespace linac::launch
