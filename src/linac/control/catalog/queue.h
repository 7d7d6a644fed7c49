#pragma once
// The queue: jobs that are to run, in what order, and their attempts. A job is a run (runs.h) with a job file and
// wishes. Which state (base/job/run_states.h) may follow which is said here and nowhere else:
//
//   PENDING → STARTING → RUNNING → SUCCEEDED | FAILED | CANCELLED | RECOVERING | LOST
//   RECOVERING → STARTING (the next attempt)      PENDING → FAILED_PRECHECKS | CANCELLED
//   RUNNING → FAILED_PRECHECKS: it refused its job before it began
//   LOST, FAILED, FAILED_PRECHECKS, CANCELLED → PENDING by resume()
//
// An attempt is written down before its process is started, so a service that is killed finds it again and nothing runs
// twice.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "linac/control/catalog/runs.h"

namespace linac::catalog {

struct Resources {
  int64_t cores = 1;
  int64_t memory_mb = 0;  // 0: not said
  int64_t gpus = 0;
};

/// Where a job is carried out: by the service's own host, by agents that ask for work, or at a site by its name.
inline constexpr const char *kOwnHost = "", *kPilots = "pilots";

struct Wishes {
  int64_t priority = 0;                 // larger first
  std::vector<std::string> depends_on;  // runs that have to succeed first
  Resources resources;
  int64_t seconds_max = 0;          // of running, all attempts together; 0: no limit
  double cost_max = 0;              // in the price file's currency; 0: no limit
  int64_t attempts_max = 5;         // for losses and preemptions
  std::string place;                // kOwnHost, kPilots or a site
  std::vector<std::string> tags{};  // that the agent must have
};

struct QueuedJob {
  std::string run, user, name;
  std::string job;  // the resolved job file
  Wishes wishes;
  RunState state = RunState::kPending;
  std::string reason;
  int64_t submitted_ms = 0;
  int64_t attempts = 0;     // started so far
  double seconds_used = 0;  // by attempts that ended
  bool cancel_wished = false;
  std::string held_by;  // why it does not start even if there is room; "": nothing
};

/// Adds the run and its place in the queue. `key`, if not empty, makes it idempotent: a second submission with the
/// user's same key gives the run of the first. kNotFound for an unknown dependency, kState for one that has failed,
/// kLimit for more jobs, or more cores, than the user's quota (users.h).
std::string submit(Database& database, const NewRun& run, const std::string& job, const Wishes& wishes,
                   const std::string& key);
QueuedJob queued_job(Database& database, const std::string& run);  // kNotFound
/// All that have not ended, those to be started first in front: priority, then the share each user has had of the last
/// day, then age.
std::vector<QueuedJob> queue(Database& database);
/// The runs of those that the viewer may read.
std::set<std::string> readable_queue(Database& database, const Viewer& viewer);

/// Where there is room for a job, and for which.
struct Room {
  Resources all, free;              // when nothing runs there, and now
  std::string place{};              // of the jobs that come here
  std::string user{};               // whose jobs they are; "": anybody's
  std::vector<std::string> tags{};  // that it has
  int64_t seconds_left = 0;  // that it will be there; a job that may need longer does not fit. 0: no end is known
  std::string host{};        // jobs that keep away from it (host_marks.h) do not fit; "": not known
};

/// The first of queue() that may start there now: pending or recovering, held by nothing (dependencies that have not
/// succeeded, its owner's rights (may.h) and quota), within what is free; one that would fit if nothing ran there holds
/// its place only against jobs of lower priority. It becomes STARTING with a new attempt.
struct Attempt {
  QueuedJob job;
  int64_t number = 0;  // from 1
};
std::optional<Attempt> start_next(Database& database, const Room& room, int64_t now_ms);

/// Why an attempt that has been handed over does not run yet: the reason that the run shows. No change of state,
/// and until it runs it counts for nothing in the shares of users.
void attempt_waits(Database& database, const std::string& run, int64_t attempt, const std::string& reason);
void attempt_running(Database& database, const std::string& run, int64_t attempt, const std::string& reason);
/// Whether its end is written down; false for one that the catalog does not know.
bool attempt_has_ended(Database& database, const std::string& run, int64_t attempt);
using job::Outcome;
/// What becomes of the job: succeeded, failed, refused (FAILED_PRECHECKS), cancelled, or recovering while attempts and
/// time are left, else failed or lost. An attempt that is not the job's current one is passed over, so that this can be
/// told twice.
RunState attempt_ended(Database& database, const std::string& run, int64_t attempt, Outcome outcome, double seconds,
                       const std::string& reason);
/// A pending job is cancelled at once; a running one is marked and its process stopped by whoever runs it. kState if it
/// has ended.
void cancel(Database& database, const std::string& run, const std::string& reason);
/// Puts one that has ended, but did not succeed, back into the queue; kState else, kLimit as submit().
void resume(Database& database, const std::string& run);

}  // namespace linac::catalog
