#pragma once
// How attempts are carried out: by processes of this host (local_launcher.h), by agents that ask for work
// (pilots/pilot_board.h), or by a system with a queue of its own (a batch system, a cluster, another host). Whoever
// starts attempts sees no more of them than this:
//
//   prepare() → kPrepared, start() → kQueued → kRunning → kEnded | kLost, then release()
//
// A launcher may skip states: a local process never queues. There is no limit of time: an attempt may be queued for
// days, and says why. An attempt is known by its label, which whoever carries it out keeps with it, so a service that
// was killed and started again adopts what it had begun: prepare() of a known label, and status() tells where it
// stands. It is started once at most, whatever happens.
//
// Calls return soon and may be made some times a second; a launcher whose answers are dear keeps them for a while. They
// throw an environment error when the system cannot be asked: that says nothing of the attempt, and the call is to be
// made again. Used by one thread at a time.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/launch/command.h"
#include "linac/control/launch/demand.h"
#include "linac/control/launch/use.h"

namespace linac::launch {

/// Which attempt is meant.
struct AttemptKey {
  std::string label;             // unique among all services that use the same system
  std::filesystem::path folder;  // the launcher's own, on the service's side; stays after the attempt
};

enum class AttemptState {
  kPrepared,  // not handed over yet, or nobody has seen it since
  kQueued,
  kRunning,
  kEnded,  // `exit` says how; without it, it never ran, and `reason` says why
  kLost,   // nothing of it runs any longer, and nobody knows how it ended
};

struct AttemptStatus {
  AttemptState state = AttemptState::kPrepared;
  std::string reason;              // why it is (still) in this state, if there is something to say
  int64_t started_ms = 0;          // since 1970; when it began to run, 0: it has not
  std::vector<std::string> hosts;  // on which it runs; empty: on this one, or not known
  std::optional<Exit> exit;
  std::string chosen{};  // why there, where there was a choice
};

class Launcher {
 public:
  virtual ~Launcher() = default;

  virtual Capacity capacity() = 0;
  /// Where a further attempt may be started now, each place by itself.
  virtual std::vector<Vacancy> vacancies() {
    const Capacity capacity = this->capacity();
    if (capacity.free.cores == 0) return {};
    return {{capacity.all, capacity.free}};
  }
  /// Whether attempts see the files of this host; else they are given the job's text (Command::job).
  virtual bool on_this_host() const { return true; }
  /// Why nothing can be started under this account (empty: none is declared); "" if it can.
  virtual std::string why_not_as(const std::string& account) = 0;

  /// Takes the attempt into the launcher's care: a new one, or one that a former service has begun. It holds its part
  /// of the capacity until release().
  virtual void prepare(const AttemptKey& attempt, const Demand& demand) = 0;
  /// Hands a prepared attempt over, unless that was done before; to be repeated when it is not known whether it was.
  /// What goes wrong later shows in status(). Environment error if it will not be started.
  virtual void start(const AttemptKey& attempt, const Command& command) = 0;
  virtual AttemptStatus status(const AttemptKey& attempt) = 0;
  /// Of one that runs.
  virtual AttemptUse use(const AttemptKey& attempt) = 0;
  /// What it has printed, at most `bytes_max` from byte `from` on; nothing if its processes write the command's log
  /// themselves. Also of one that has ended.
  virtual std::optional<std::string> output(const AttemptKey& attempt, int64_t from, size_t bytes_max) = 0;
  /// Takes it out of the queue, also before it has come into it, or asks it to end and ends it after the command's
  /// stop_grace_s. By the label alone where the folder is empty. To be called again while it is there: the calls are
  /// also the clock of the grace where nobody else watches it.
  virtual void cancel(const AttemptKey& attempt) = 0;
  /// Its end is written down: what it held is free.
  virtual void release(const AttemptKey& attempt) = 0;

  /// Labels of what is queued or runs and bears this service's mark, prepared or not: so nothing is forgotten there.
  virtual std::vector<std::string> labels() = 0;
};

}  // namespace linac::launch
