#pragma once
// What this host says of processes, which are named by their keys (base/base/process_key.h). Thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

#include "linac/base/base/process_key.h"

namespace linac::launch {

using linac::alive;
using linac::process_key;
using linac::process_key_from_json;
using linac::ProcessKey;
using linac::to_json;

/// Sends the signal if this very process is still there; false if it is not, or may not be signalled.
bool send_signal(const ProcessKey& key, int signal);

/// Processes that have `variable=value` in the environment they were started with, as far as this user may look.
std::vector<ProcessKey> processes_with(const std::string& variable, const std::string& value);

/// Children of this process, their children and so on, whatever groups, sessions and environments they have taken.
std::vector<ProcessKey> descendants();
/// Kills all of them but `spared`. First each is stopped, so that none makes another one meanwhile.
void kill_descendants(const std::vector<ProcessKey>& spared);

/// CPU time and memory of some processes together, from /proc; those that have ended count nothing.
struct ProcessUse {
  double cpu_s = 0;
  int64_t memory_bytes = 0;                   // resident; shared pages once a process
  int64_t read_bytes = 0, written_bytes = 0;  // of storage
};
ProcessUse use_of(const std::vector<ProcessKey>& processes);

}  // namespace linac::launch
