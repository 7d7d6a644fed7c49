#pragma once
// Which process is meant, for as long as anybody may ask: process ids are used again, a pair of id and start time is
// not, until the next boot. Thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include <sys/types.h>

namespace linac::launch {

struct ProcessKey {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // since boot
  std::string boot;          // the kernel's name for this boot

  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

/// Of a process that is there now; pid 0 if there is none, or it has ended and is only waiting to be reaped.
ProcessKey process_key(pid_t pid);
bool alive(const ProcessKey& key);
/// Sends the signal if this very process is still there; false if it is not, or may not be signalled.
bool send_signal(const ProcessKey& key, int signal);

/// Processes that have `variable=value` in the environment they were started with, as far as this user may look.
std::vector<ProcessKey> processes_with(const std::string& variable, const std::string& value);

nlohmann::json to_json(const ProcessKey& key);
/// Throws nlohmann::json::exception for anything that to_json() does not write.
ProcessKey process_key_from_json(const nlohmann::json& json);

/// CPU time and memory of some processes together, from /proc; those that have ended count nothing.
struct ProcessUse {
  double cpu_s = 0;
  int64_t memory_bytes = 0;                   // resident; shared pages once a process
  int64_t read_bytes = 0, written_bytes = 0;  // of storage
};
ProcessUse use_of(const std::vector<ProcessKey>& processes);

}  // namespace linac::launch
