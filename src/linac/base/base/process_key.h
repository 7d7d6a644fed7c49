#pragma once
// Which process is meant, for as long as anybody may ask: process ids are used again, a pair of id and start time is
// not, until the next boot. Thread-safe.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include <sys/types.h>

namespace linac {

struct ProcessKey {
  pid_t pid = 0;
  uint64_t start_ticks = 0;  // since boot
  std::string boot;          // the kernel's name for this boot

  friend bool operator==(const ProcessKey&, const ProcessKey&) = default;
};

/// Of a process that is there now; pid 0 if there is none, or it has ended and is only waiting to be reaped.
ProcessKey process_key(pid_t pid);
bool alive(const ProcessKey& key);

nlohmann::json to_json(const ProcessKey& key);
/// Throws nlohmann::json::exception for anything that to_json() does not write.
ProcessKey process_key_from_json(const nlohmann::json& json);

/// What /proc/PID/stat says (proc(5)); nothing if there is no such process.
struct ProcessStat {
  char state = 0;
  pid_t parent = 0;
  uint64_t start_ticks = 0, cpu_ticks = 0;
  int64_t resident_pages = 0;
  bool ended() const { return state == 'Z' || state == 'X'; }
};
std::optional<ProcessStat> process_stat(pid_t pid);

}  // namespace linac
