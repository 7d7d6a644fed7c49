#pragma once
// Attempts as processes of this host. Each has a supervisor (supervisor.h), a process of its own session that outlives
// the service, and is known by its folder (attempt_folder.h); the label is for others. What it prints goes straight
// into the command's log.

#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/child_process.h"
#include "linac/control/launch/control_groups.h"
#include "linac/control/launch/host_meter.h"
#include "linac/control/launch/launcher.h"
#include "linac/control/launch/slots.h"

namespace linac::launch {

class LocalLauncher : public Launcher {
 public:
  /// `supervisor`: program and arguments that, with the attempt's folder behind them, end in supervise().
  LocalLauncher(std::vector<std::string> supervisor, Slots slots, ControlGroups groups);
  ~LocalLauncher() override;
  LocalLauncher(const LocalLauncher&) = delete;
  LocalLauncher& operator=(const LocalLauncher&) = delete;

  Capacity capacity() override;
  std::string why_not_as(const std::string& account) override;
  /// One that was begun before holds the cores and GPUs that it has.
  void prepare(const AttemptKey& attempt, const Demand& demand) override;
  /// Sets the command's limits to what the attempt holds, and its control group.
  void start(const AttemptKey& attempt, const Command& command) override;
  /// kPrepared until the supervisor shows; one that does not is started kStartsMax times.
  AttemptStatus status(const AttemptKey& attempt) override;
  AttemptUse use(const AttemptKey& attempt) override;
  std::optional<std::string> output(const AttemptKey& attempt, int64_t from, size_t bytes_max) override;
  void cancel(const AttemptKey& attempt) override;
  void release(const AttemptKey& attempt) override;
  /// None: whatever runs here was written down before it was started, and is found by its folder.
  std::vector<std::string> labels() override { return {}; }

  static constexpr std::chrono::seconds kStartMax{20};  // until the supervisor shows
  static constexpr int kStartsMax = 3;

 private:
  using Clock = std::chrono::steady_clock;
  struct Held {
    Demand demand;
    Limits limits;
    int starts = 0;
    Clock::time_point started_at{};
  };
  void reap();
  void start_supervisor(const std::filesystem::path& folder, Held& held);
  AttemptStatus not_shown(const std::filesystem::path& folder);

  std::vector<std::string> supervisor_;
  Slots slots_;
  const ControlGroups groups_;
  HostMeter host_;
  std::map<std::filesystem::path, Held> held_;                   // by folder, from prepare() to release()
  std::map<std::filesystem::path, Clock::time_point> stopping_;  // orphans: since when
  std::vector<ChildProcess> children_;                           // supervisors started by this process, until they end
};

/// The program that runs now.
std::string this_program();
/// Supervised by `linac supervise` of the program that runs now.
std::unique_ptr<Launcher> local_launcher(Slots slots, ControlGroups groups);

}  // namespace linac::launch
