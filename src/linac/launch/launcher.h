#pragma once
// How attempts are carried out: on this host (local_launcher.h), later by a batch system. An attempt is known by its
// folder alone, so a service that was killed and started again finds what it had begun. An attempt is started once at
// most, whatever happens: start() may be repeated when it is not known whether it was done. Launchers are used by one
// thread at a time.

#include <filesystem>
#include <optional>

#include "linac/launch/command.h"

namespace linac::launch {

enum class AttemptState {
  kNotStarted,
  kRunning,
  kEnded,  // AttemptStatus::exit says how
  kLost,   // nothing of it runs any longer, and nobody knows how it ended
};

struct AttemptStatus {
  AttemptState state = AttemptState::kNotStarted;
  std::optional<Exit> exit;
};

class Launcher {
 public:
  virtual ~Launcher() = default;
  /// Makes the folder and starts the command, unless that was done before. Returns at once; what goes wrong later shows
  /// in status(). Environment error if nothing can be started here.
  virtual void start(const std::filesystem::path& folder, const Command& command) = 0;
  virtual AttemptStatus status(const std::filesystem::path& folder) = 0;
  /// Asks it to end, and after the command's stop_grace_s ends it. To be called again while it runs: the calls are also
  /// the clock of the grace where nobody else watches the command.
  virtual void stop(const std::filesystem::path& folder) = 0;
};

}  // namespace linac::launch
