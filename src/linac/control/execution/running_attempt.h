#pragma once
// One attempt of a job, from the moment the catalog names it to its end: its files, where its launcher has it, and what
// it tells meanwhile. Made for a new attempt and for one that is adopted after a restart alike. One thread.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/clock.h"
#include "linac/base/base/redactor.h"
#include "linac/control/catalog/may.h"
#include "linac/control/catalog/queue.h"
#include "linac/control/execution/attempt_verdict.h"
#include "linac/control/execution/job_view.h"
#include "linac/control/execution/prices.h"
#include "linac/control/execution/record/log_copy.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/execution/record/run_recorder.h"
#include "linac/control/execution/use_sampler.h"
#include "linac/control/launch/launcher.h"

namespace linac::execution {

/// A user's secrets that a job asks for; `problem` says which it cannot have, and the way out.
struct GivenSecrets {
  std::vector<launch::Secret> secrets;
  std::string problem;
};

/// What the service does alike for all jobs.
struct AttemptSettings {
  /// The command for a job file and the folder of the run's outputs.
  std::function<std::vector<std::string>(const std::string& job, const std::string& outputs)> command;
  /// The account of the host that a user's jobs run under; empty: none is declared.
  std::function<std::string(catalog::Database&, const std::string& user)> account;
  /// Whether a user may do all that the service may.
  std::function<bool(catalog::Database&, const std::string& user)> is_admin;
  /// The user's secrets of these names, as they are now; none: there are none.
  std::function<GivenSecrets(catalog::Database&, const std::string& user, const std::vector<std::string>& names)>
      secrets{};
  /// Why jobs of this user may not go to this place (any longer); "" if they may. None: all may.
  std::function<std::string(catalog::Database&, const std::string& user, const std::string& place)> why_not_there{};
  Sandboxes sandboxes;
  /// Whether another may begin now, e.g. because there is room for its files; none: always.
  std::function<bool()> may_begin{};
  double stop_grace_s = 120;  // for a checkpoint, between SIGTERM and SIGKILL
  Prices prices;
  std::function<int64_t()> clock = now_ms;  // of what is limited and told: since 1970
};

/// Why jobs of this user, that would run as this account, cannot be let run beside the service's data; "" if they can.
std::string why_not_trusted(catalog::Database& database, const std::string& user, const std::string& account,
                            const AttemptSettings& settings);

/// The run and the number that an attempt's label names; nothing if it is none.
std::optional<std::pair<std::string, int64_t>> attempt_of(const std::string& label);

struct AttemptEnd {
  AttemptVerdict verdict;
  double seconds = 0;
};

class RunningAttempt {
 public:
  /// Gives it into the launcher's care, where it stays until release().
  RunningAttempt(Host& host, launch::Launcher& launcher, const AttemptSettings& settings, catalog::QueuedJob job,
                 int64_t number);

  /// Looks after it: tells the catalog what is new, stops it where its limits or a cancellation ask for it. Its end,
  /// once.
  std::optional<AttemptEnd> poll();
  /// When its end is in the catalog.
  void release();

  const catalog::QueuedJob& job() const { return job_; }
  int64_t number() const { return number_; }
  const launch::AttemptKey& key() const { return key_; }

 private:
  void prepare_folders(const std::string& account) const;
  GivenSecrets find_secrets();
  void know_secrets();
  std::optional<AttemptVerdict> begin();
  std::optional<AttemptEnd> not_started();
  void tell_waiting();
  void tell_running();
  void copy_output(int pieces_max);
  void tell_log(int pieces_max);
  void follow();
  bool began() const;
  void mark_hosts(catalog::Database& database, const job::AuditLine& line) const;
  void stop_if_due(catalog::Action action);
  double seconds() const;
  /// Of all attempts, the last one `seconds` long.
  double cost(double seconds) const;
  std::string told_reason() const;
  AttemptEnd ended();

  Host& host_;
  launch::Launcher& launcher_;
  const AttemptSettings& settings_;
  catalog::QueuedJob job_;
  const int64_t number_;
  RunPlaces places_;
  const launch::AttemptKey key_;
  launch::AttemptStatus status_;  // as it was told last
  std::vector<std::string> secret_names_;
  std::optional<Redactor> redactor_;  // of what the run tells; none: it is not known yet
  RunFollower follower_;
  LogCopy log_copy_;
  UseSampler sampler_;
  StopCause cause_ = StopCause::kNone;
  std::string stopped_;  // of kCancelled: the reason, where nobody wished it
  bool begun_ = false, told_running_ = false;
  std::string told_waiting_;
  int refusals_ = 0;
  int64_t log_told_ = -1;  // bytes; -1: from its end on
  std::chrono::steady_clock::time_point wishes_read_{};
};

}  // namespace linac::execution
