#pragma once
// Carries out the queue: a thread that hands to the launcher of a job's place (control/catalog/queue.h) what may start
// and fits, looks after what waits there and runs, and writes down how it ended. Everything it knows is in the catalog
// and with the launcher, so a service that was killed goes on where it was: its attempts run on meanwhile, are adopted,
// and none is started twice. Destroying it leaves them running. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linac/control/execution/running_attempt.h"
#include "linac/control/launch/launcher.h"

namespace linac::execution {

class Scheduler {
 public:
  /// Takes up at once what the catalog says is under way.
  /// `others`: of further places, by their names (control/catalog/queue.h). Jobs for a place that has none wait.
  Scheduler(Host& host, AttemptSettings attempts, std::unique_ptr<launch::Launcher> own_host,
            std::map<std::string, std::unique_ptr<launch::Launcher>> others = {});
  ~Scheduler();

  /// Something in the queue has changed. After the commit.
  void wake();

  /// What one job can have at most at a place.
  const launch::Demand& all(const std::string& place = catalog::kOwnHost) const { return all_.at(place); }
  const AttemptSettings& attempts() const { return attempts_; }

 private:
  void run();
  void take_up();
  bool look_after(RunningAttempt& attempt);  // whether it has come to its end
  void look_after_all();
  void start_what_fits();
  /// Whether one has been started.
  bool start_one(const std::string& place, launch::Launcher& launcher);
  void add(catalog::QueuedJob job, int64_t number);
  void finish(RunningAttempt& attempt, const AttemptEnd& end);
  /// Attempts that have ended in the catalog, and are still there for the launcher: handed over, say, while the answer
  /// was lost.
  void cancel_orphans();

  Host& host_;
  const AttemptSettings attempts_;
  std::map<std::string, std::unique_ptr<launch::Launcher>> launchers_;  // by place
  std::map<std::string, launch::Demand> all_;

  // Of the thread alone.
  std::vector<std::unique_ptr<RunningAttempt>> running_;
  std::chrono::steady_clock::time_point complained_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = true, stopping_ = false;
  std::thread thread_;
};

}  // namespace linac::execution
