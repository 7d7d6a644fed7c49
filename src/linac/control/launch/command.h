#pragma once
// What an attempt starts, and how its end is told; both as files of the attempt's folder (attempt_folder.h). Plain
// values.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace linac::launch {

struct Limits {
  int64_t memory_mb = 0;     // of data of each process (RLIMIT_DATA); 0: none
  std::vector<int> cores{};  // on which alone it may run; empty: all
  std::vector<int> gpus{};   // that it sees (CUDA_VISIBLE_DEVICES)
  // Where it has a control group, of all its processes together:
  int64_t memory_together_mb = 0;  // 0: none
  int64_t processes = 0;           // and threads; 0: none
};

/// The folders of a control group (control_group.h). All empty: there is none.
struct GroupPlace {
  std::string unified = {};                      // of version 2
  std::string freezer = {};                      // of version 1, where there is no `unified`
  std::string memory = {}, pids = {}, cpu = {};  // that has this limit: `unified`, or of version 1; empty: none has

  friend bool operator==(const GroupPlace&, const GroupPlace&) = default;
};

/// What of this host's files a command sees in a sandbox (sandbox.h), where the rest is read-only. Paths that are not
/// there are left out, but those of `writable`.
struct View {
  std::vector<std::string> hidden;    // folders and files that are not there ...
  std::vector<std::string> programs;  // ... these come back, read-only, where they are hidden; also by a sandbox itself
  std::vector<std::string> readable;  // these are shown wherever they lie
  std::vector<std::string> writable;  // and these can be written
};

/// What a command is given and nobody else may see.
struct Secret {
  std::string name;   // of the variable
  std::string value;  // without zero bytes, unless it is a file's
  bool file = false;  // the value is in a file for this attempt alone, whose path the variable has
};

struct Command {
  std::vector<std::string> argv;  // argv[0]: path of the program
  std::string directory;          // it starts there
  std::string log;                // both outputs are appended to this file
  std::string account;            // of the host; empty: the one of the process that starts it
  std::vector<std::pair<std::string, std::string>> environment;  // beside the few variables that every attempt gets
  Limits limits;              // set by the launcher, which has cores and GPUs by number
  double stop_grace_s = 120;  // between SIGTERM and SIGKILL
  GroupPlace group{};         // set by the launcher, too
  std::optional<View> view;   // it runs in a sandbox; none: as everything of its account
  /// No part of to_json(): a launcher brings them to the attempt by a private way of its own, and keeps them nowhere
  /// when it has ended. In what the command prints their values are replaced by their names (base/base/redactor.h).
  std::vector<Secret> secrets{};
  /// No part of to_json() either: the job file's text, where attempts do not see this host's files; argv is the
  /// launcher's to make then.
  std::string job{};
};

/// How the command ended.
struct Exit {
  int status = 0;                 // of exit(), when `signal` is 0
  int signal = 0;                 // that killed it
  bool stopped = false;           // it had been asked to stop
  double seconds = 0;             // wall
  double cpu_s = 0;               // with all processes that it waited for
  int64_t memory_peak_bytes = 0;  // of the largest process
  int64_t ended_ms = 0;           // since 1970
  std::string problem;            // it could not be started: why
  int64_t out_of_memory_mb = 0;   // the limit at which the kernel has killed processes of it; 0: it has not
};

nlohmann::json to_json(const Command& command);
nlohmann::json to_json(const Exit& exit);
/// Throw nlohmann::json::exception for what to_json() does not write.
Command command_from_json(const nlohmann::json& json);
Exit exit_from_json(const nlohmann::json& json);

}  // namespace linac::launch
