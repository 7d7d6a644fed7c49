#pragma once
// One job that an agent has leased, from the folder that is fetched to the end that is told. Its files lie in a folder
// of its own; what is in lease.json there is enough to go on after the agent was killed.
//
//   lease.json  attempt and secret of the lease, 0600      run/      the run's folder
//   job.yaml    as the service sent it                     log.txt   what its processes print
//   attempt/    of the launcher (control/launch/attempt_folder.h)
//
// A thread of its own speaks with the service about files. look() and beat() are called by two threads of the agent,
// one of them each: the first looks after the processes, the second keeps the lease. None waits for another.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linac/control/agent/pilot_client.h"
#include "linac/control/launch/launcher.h"

namespace linac::agent {

/// How jobs are run here.
struct WorkSettings {
  client::Login login;
  bool sandbox_others = true;       // jobs of other users run in a sandbox
  std::filesystem::path folder;     // of the agent: hidden from these
  std::vector<std::string> hidden;  // from these, too
  std::filesystem::path program;    // linac
  std::vector<std::string> needed;  // folders with what it loads
};

/// The folder of work that nobody wants any longer; what stays is in the log.
void remove_work(const std::filesystem::path& folder);

class LeasedWork {
 public:
  /// Work that was just handed out.
  LeasedWork(const WorkSettings& settings, launch::HandedWork work, std::filesystem::path folder);
  /// What a former agent had begun in this folder; null if nothing can be told of it any more.
  static std::unique_ptr<LeasedWork> adopted(const WorkSettings& settings, const std::filesystem::path& folder);
  /// Waits for its thread, which leave() ends soon.
  ~LeasedWork();
  LeasedWork(const LeasedWork&) = delete;
  LeasedWork& operator=(const LeasedWork&) = delete;

  const std::string& label() const { return lease_.label; }

  /// Starts its processes when all is there, looks how they stand, ends them where that is due.
  void look(launch::Launcher& launcher);
  /// Tells that the job goes on, and hears whether it is to stop.
  void beat(PilotClient& client);
  /// The job saves a checkpoint and stops; how it ended is told.
  void drain() { stop_ = true; }
  /// Nothing more is told; what was not stays in the folder.
  void leave() { leaving_ = true; }

  /// All is told, or nobody wants it: the folder is gone, or stays for another agent after leave().
  bool done() const { return stage_ == Stage::kDone; }
  /// The service has not answered yet whether the job may begin.
  bool begins() const { return stage_ == Stage::kHanded; }
  bool token_refused() const { return token_refused_; }
  /// This host is not able to do it, and most likely no other job either: its disk is full, say.
  bool failed_here() const { return failed_here_; }

 private:
  enum class Stage { kHanded, kFetching, kReady, kRunning, kEnded, kDone };
  LeasedWork(const WorkSettings& settings, launch::HandedWork work, std::filesystem::path folder, Stage stage);

  launch::AttemptKey key() const { return {lease_.label, folder_ / "attempt"}; }
  launch::Command command() const;
  void write_down() const;
  void start(launch::Launcher& launcher);
  void look_at_processes(launch::Launcher& launcher);
  void ended(const launch::Exit& exit);
  void kill_processes() const;

  // Of the thread that speaks.
  void speak();
  void carry_through(PilotClient& client);
  /// Tries until it goes well; LeaseOver where nobody waits for it any more.
  template <class Call>
  void until_it_goes_well(Call&& call);
  /// At most so long, as long as the stage is that one and something may still come of it.
  void wait_in(Stage stage, std::chrono::milliseconds time) const;

  const WorkSettings& settings_;
  const std::filesystem::path folder_;
  Lease lease_;
  launch::HandedWork work_;
  std::atomic<Stage> stage_;
  std::atomic<bool> stop_ = false, over_ = false, leaving_ = false, token_refused_ = false, failed_here_ = false;
  const bool adopted_;
  bool prepared_ = false;     // of look()'s thread
  mutable std::mutex mutex_;  // of the two below
  launch::AttemptUse use_{};
  launch::Exit exit_{};
  std::chrono::steady_clock::time_point used_{};  // of look()'s thread
  std::thread thread_;
};

}  // namespace linac::agent
