#pragma once
// Carries out the queue on this host: a thread that starts what may start and fits, looks after what runs, and writes
// down how it ended. Everything it knows is in the books and in the attempts' folders, so a service that was killed
// goes on where it was: its attempts run on meanwhile, are found again by their folders, and none is started twice.
// Destroying it leaves them running. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "linac/execution/running_attempt.h"
#include "linac/execution/slots.h"
#include "linac/launch/launcher.h"

namespace linac::execution {

struct SchedulerOptions {
  Slots slots = Slots::of_host();
  AttemptSettings attempts;
};
/// `linac train JOB --out FOLDER --resume` by the program that runs now; accounts as the books have them, or, without
/// `authentication`, this process's own for everybody.
AttemptSettings attempt_settings(bool authentication);
/// Local processes, supervised by the program that runs now.
std::unique_ptr<launch::Launcher> local_launcher();

class Scheduler {
 public:
  /// Takes up at once what the books say is under way.
  Scheduler(Site& site, SchedulerOptions options, std::unique_ptr<launch::Launcher> launcher);
  ~Scheduler();

  /// Something in the queue has changed. After the commit.
  void wake();

  /// What all jobs together can have.
  const Slots& all_slots() const { return all_slots_; }
  const AttemptSettings& attempts() const { return options_.attempts; }

 private:
  void run();
  void take_up();
  bool look_after(RunningAttempt& attempt);  // whether it has come to its end
  void look_after_all();
  void start_what_fits();
  void add(catalog::QueuedJob job, int64_t number, launch::Limits limits);
  void finish(const RunningAttempt& attempt, const AttemptEnd& end);

  Site& site_;
  const SchedulerOptions options_;
  const Slots all_slots_;
  const std::unique_ptr<launch::Launcher> launcher_;

  // Of the thread alone.
  Slots slots_;
  std::vector<std::unique_ptr<RunningAttempt>> running_;
  std::chrono::steady_clock::time_point complained_{};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool woken_ = true, stopping_ = false;
  std::thread thread_;
};

}  // namespace linac::execution
