#pragma once
// Attempts as processes of this host. Each has a supervisor (supervisor.h), a process of its own session that outlives
// the service.

#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "linac/launch/launcher.h"

namespace linac::launch {

class LocalLauncher : public Launcher {
 public:
  /// `supervisor`: program and arguments that, with the attempt's folder behind them, end in supervise().
  explicit LocalLauncher(std::vector<std::string> supervisor) : supervisor_(std::move(supervisor)) {}

  void start(const std::filesystem::path& folder, const Command& command) override;
  AttemptStatus status(const std::filesystem::path& folder) override;
  void stop(const std::filesystem::path& folder) override;

 private:
  void reap();

  std::vector<std::string> supervisor_;
  std::vector<pid_t> children_;  // supervisors started by this process, until they end
  std::map<std::filesystem::path, std::chrono::steady_clock::time_point> stopping_;  // orphans: since when
};

/// Why this process may not start commands under `account` of the host (empty: no account declared); "" if it may.
std::string why_not_as(const std::string& account);
/// The account of this process.
std::string own_account();

}  // namespace linac::launch
