#pragma once
// From what somebody submits to jobs for the queue: the job file resolved with its overrides, one job for each member
// of an array, paths made absolute, resources from the job where nobody says them, and the cheap checks that find in
// milliseconds what would fail in minutes. Thread-safe functions.

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/control/catalog/queue.h"
#include "linac/control/launch/command.h"
#include "linac/control/launch/demand.h"

namespace linac::execution {

struct SubmissionRequest {
  std::string job;               // text of the job file
  std::string file = "the job";  // where that text is from, for messages
  std::string folder;            // where that file is: its relative paths are looked for there first
  std::string directory;         // ... and then here, as are those of the overrides; empty: they are refused
  std::vector<std::string> overrides;
  std::vector<std::vector<std::string>> array;  // further overrides of each member; empty: one job without
  std::string name;                             // empty: the job's
  int64_t experiment = 0;
  std::string user, account;
  std::string hidden;                     // folder in which nothing is found but below a run's artefacts; empty: none
  std::optional<launch::View> sandbox{};  // what such a one does not show is as if it were not there
  catalog::Wishes wishes;                 // cores 0: by the job
};

struct PreparedJob {
  catalog::NewRun run;
  std::string job;  // resolved
  catalog::Wishes wishes;
  std::vector<std::string> secrets;  // that it asks for, by name
  std::string problem;               // what it would fail by; empty: nothing is known
};

/// What a job of many is called: "topology-3 seed=3 batch=30", by the ends of the settings' names where these are
/// clear. Settings beyond some 100 bytes are left out.
std::string name_of_member(const std::string& all, const std::string& number, const std::vector<std::string>& settings);

/// User error, or kInvalid, for a job that is none; `problem` for one whose files are not there (as `account` sees
/// them).
std::vector<PreparedJob> prepare(const SubmissionRequest& request, const launch::Demand& all, bool price_known);

constexpr size_t kArrayMax = 1000, kOverridesMax = 1000;
constexpr size_t kJobBytesMax = 1 << 20;         // of the job file
constexpr std::chrono::seconds kPrepareMax{20};  // for an array, of which not all may have been looked at

}  // namespace linac::execution
