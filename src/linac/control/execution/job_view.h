#pragma once
// What a job sees of the host in its sandbox (control/launch/sandbox.h): the service's data are not there, but its own
// run and what it names as input.

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/catalog/queue.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/launch/command.h"

namespace linac::execution {

/// Who keeps a job from the service's data where it runs under the service's own account.
enum class Isolation {
  kOfLauncher,  // the launcher, or nobody: the jobs are trusted
  kSandbox,
  kNone,  // only admins' jobs run, who may do all that the service may
};

struct Sandboxes {
  Isolation isolation = Isolation::kOfLauncher;
  std::string why_none;               // with kNone
  std::vector<std::string> hidden;    // places of the service beside its data folder
  std::vector<std::string> programs;  // launch::needed_by() what jobs start
};

/// What no job of this account is shown, whatever it names; nothing if its jobs run in no sandbox.
std::optional<launch::View> view_of_all(const Sandboxes& sandboxes, const std::string& account);

/// Where a user's jobs keep what they have fetched; made if it is not there. One for each user: what is in there is
/// believed.
std::filesystem::path cache_of(const Host& host, const std::string& user);

/// Reads the job's text; user error for an input that a job cannot be shown. Inputs below /tmp are shown where they are
/// files of there; those below the artefacts where they are of a run of the same user, that run with them.
launch::View view_of(Host& host, const Sandboxes& sandboxes, const RunPlaces& places, const catalog::QueuedJob& job);

}  // namespace linac::execution
