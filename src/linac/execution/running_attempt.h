#pragma once
// One attempt of a job, from the moment the books name it to its end: its files, its process, and what it tells
// meanwhile. Made for a new attempt and for one that is found again after a restart alike. One thread.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/catalog/queue.h"
#include "linac/execution/attempt_verdict.h"
#include "linac/execution/prices.h"
#include "linac/execution/record/run_places.h"
#include "linac/execution/record/run_recorder.h"
#include "linac/execution/use_sampler.h"
#include "linac/launch/launcher.h"

namespace linac::execution {

/// What the service does alike for all jobs.
struct AttemptSettings {
  /// The command for a job file and the folder of the run's outputs.
  std::function<std::vector<std::string>(const std::string& job, const std::string& outputs)> command;
  /// The account of the host that a user's jobs run under; empty: none is declared.
  std::function<std::string(catalog::Database&, const std::string& user)> account;
  double stop_grace_s = 120;  // for a checkpoint, between SIGTERM and SIGKILL
  Prices prices;
};

struct AttemptEnd {
  AttemptVerdict verdict;
  double seconds = 0;
};

class RunningAttempt {
 public:
  RunningAttempt(Site& site, launch::Launcher& launcher, const AttemptSettings& settings, catalog::QueuedJob job,
                 int64_t number, launch::Limits limits);

  /// Starts it, unless that was done before. A reason why it cannot be started, or "".
  std::string begin();
  /// Looks after it: tells the books what is new, stops it where its limits or a cancellation ask for it. Its end,
  /// once.
  std::optional<AttemptEnd> poll();

  const catalog::QueuedJob& job() const { return job_; }
  int64_t number() const { return number_; }
  const launch::Limits& limits() const { return limits_; }

 private:
  void prepare_folders(const std::string& account) const;
  void tell_running();
  void tell_log();
  void follow();
  bool began() const;
  void stop_if_due();
  double seconds() const;
  /// Of all attempts, the last one `seconds` long.
  double cost(double seconds) const;
  std::string told_reason() const;
  std::optional<AttemptEnd> not_started();
  AttemptEnd ended(const launch::AttemptStatus& status);

  Site& site_;
  launch::Launcher& launcher_;
  const AttemptSettings& settings_;
  catalog::QueuedJob job_;
  const int64_t number_;
  launch::Limits limits_;
  RunPlaces places_;
  RunFollower follower_;
  UseSampler sampler_;
  StopCause cause_ = StopCause::kNone;
  bool told_running_ = false;
  int begun_ = 0, refusals_ = 0;
  int64_t log_told_ = -1;  // bytes; -1: from its end on
  std::chrono::steady_clock::time_point begun_at_, wishes_read_{};
};

}  // namespace linac::execution
