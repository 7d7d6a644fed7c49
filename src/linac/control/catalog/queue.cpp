#include "linac/control/catalog/queue.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/host_marks.h"
#include "linac/control/catalog/queue_rows.h"
#include "linac/control/catalog/records.h"
#include "linac/control/catalog/run_columns.h"
#include "linac/control/catalog/search.h"

namespace linac::catalog {
namespace {

constexpr size_t kDependenciesMax = 1000;

void check_quota(Database& database, const std::string& user_name, const Resources& wanted) {
  const auto row = database.first("SELECT jobs_max, cores_max FROM users WHERE name = $1", user_name);
  if (!row) return;
  const int64_t jobs_max = row->integer(0), cores_max = row->integer(1);
  if (cores_max > 0 && wanted.cores > cores_max)
    throw Refusal(RefusalKind::kLimit, fmt::format("[queue] {} cores; the quota of '{}' is {} at a time", wanted.cores,
                                                   user_name, cores_max));
  if (jobs_max == 0) return;
  const int64_t jobs =
      database
          .query(
              "SELECT COUNT(*) FROM jobs j JOIN runs r ON r.number = j.run WHERE j.waiting <> 0 AND r.user_name = $1",
              user_name)
          .front()
          .integer(0);
  if (jobs >= jobs_max)
    throw Refusal(RefusalKind::kLimit,
                  fmt::format("[queue] '{}' has {} jobs that wait or run, as many as the quota allows; cancel one, or "
                              "wait until one has ended",
                              user_name, jobs));
}

bool fits(const Resources& wanted, const Resources& free) {
  return wanted.cores <= free.cores && wanted.memory_mb <= free.memory_mb && wanted.gpus <= free.gpus;
}

/// A job that comes to its end, and with it those that can never start: they are cancelled.
void end_job(Database& database, int64_t number, RunState state, const std::string& reason) {
  std::vector<std::tuple<int64_t, RunState, std::string>> ends{{number, state, reason}};
  while (!ends.empty()) {
    const auto [job, to, why] = ends.back();
    ends.pop_back();
    change_state(database, job, to, why);
    database.query("UPDATE jobs SET waiting = 0, cancel_wished = 0 WHERE run = $1", job);
    if (to == RunState::kSucceeded) continue;
    const std::string id = database.query("SELECT id FROM runs WHERE number = $1", job).front().text(0);
    for (const Row& row :
         database.query("SELECT d.run FROM dependencies d JOIN jobs j ON j.run = d.run JOIN runs r ON r.number = "
                        "d.run WHERE d.needs = $1 AND j.waiting <> 0 AND r.state = $2",
                        job, std::string(to_string(RunState::kPending))))
      ends.emplace_back(row.integer(0), RunState::kCancelled,
                        fmt::format("depends on {}, which ended as {}", id, to_string(to)));
  }
}

bool contains_all(const std::vector<std::string>& all, const std::vector<std::string>& wanted) {
  return std::all_of(wanted.begin(), wanted.end(),
                     [&](const std::string& tag) { return std::find(all.begin(), all.end(), tag) != all.end(); });
}

/// Whether it would be let in if nothing ran there. `marks`: of the room's host.
bool is_for(const QueuedJob& job, const Room& room, const std::vector<HostMark>& marks) {
  const Wishes& wishes = job.wishes;
  const bool in_time =
      room.seconds_left == 0 || wishes.seconds_max == 0 ||
      static_cast<double>(wishes.seconds_max) - job.seconds_used <= static_cast<double>(room.seconds_left);
  return wishes.place == room.place && (room.user.empty() || room.user == job.user) && in_time &&
         fits(wishes.resources, room.all) && contains_all(room.tags, wishes.tags) &&
         std::ranges::none_of(marks, [&](const HostMark& mark) { return mark.binds(job.user); });
}

void check_tags(const std::vector<std::string>& tags) {
  constexpr size_t kTagsMax = 50, kTagBytesMax = 100;
  const auto good = [](const std::string& tag) {
    return !tag.empty() && tag.size() <= kTagBytesMax && std::all_of(tag.begin(), tag.end(), [](unsigned char c) {
      return std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-' || c == '=' || c == ':';
    });
  };
  if (tags.size() > kTagsMax || !std::all_of(tags.begin(), tags.end(), good))
    throw Refusal(RefusalKind::kInvalid, "[queue] tags of agents are words of letters, digits and ._-=:, 50 at most");
}

void check_wishes(const Wishes& w) {
  const auto refuse = [](const std::string& what) { throw Refusal(RefusalKind::kInvalid, "[queue] " + what); };
  if (w.resources.cores < 1 || w.resources.memory_mb < 0 || w.resources.gpus < 0)
    refuse("a job needs one core at least, and no negative memory or GPUs");
  if (w.seconds_max < 0 || !(w.cost_max >= 0) || w.attempts_max < 1)
    refuse("limits of time and cost are 0 (none) or more, and a job has one attempt at least");
  // Which there are, knows who carries jobs out.
  constexpr size_t kPlaceLettersMax = 100;
  if (w.place.size() > kPlaceLettersMax || !std::all_of(w.place.begin(), w.place.end(), [](unsigned char c) {
        return c < 128 && (std::isalnum(c) != 0 || c == '.' || c == '_' || c == '-');
      }))
    refuse("a place of jobs has letters, digits and ._- in its name");
  if (w.place != kPilots && !w.tags.empty()) refuse(fmt::format("tags are of agents; submit it to '{}'", kPilots));
  check_tags(w.tags);
  if (w.depends_on.size() > kDependenciesMax)
    refuse(fmt::format("{} dependencies; {} are the most", w.depends_on.size(), kDependenciesMax));
}

}  // namespace

std::string submit(Database& database, const NewRun& run, const std::string& job, const Wishes& wishes,
                   const std::string& key) {
  check_wishes(wishes);
  if (!key.empty()) {
    check_key("submission key", key);
    if (const auto before =
            database.first("SELECT r.id FROM submissions s JOIN runs r ON r.number = s.run WHERE s.user_name = "
                           "$1 AND s.key = $2",
                           run.user, key))
      return before->text(0);
  }
  std::set<int64_t> needs;
  for (const std::string& id : wishes.depends_on) {
    needs.insert(run_number(database, id));
    const RunState state = run_state(database.query("SELECT state FROM runs WHERE id = $1", id).front().text(0));
    if (ended(state) && state != RunState::kSucceeded)
      throw Refusal(
          RefusalKind::kState,
          fmt::format("[queue] the job depends on {}, which ended as {}; resume that one first", id, to_string(state)));
  }
  check_quota(database, run.user, wishes.resources);
  NewRun pending = run;
  pending.state = RunState::kPending;
  pending.started_ms = 0;
  const std::string id = create_run(database, pending).id;
  const int64_t number = run_number(database, id);
  database.query(
      "INSERT INTO jobs (run, job, priority, cores, memory_mb, gpus, seconds_max, cost_max, attempts_max, "
      "submitted_ms, attempts, attempts_before, seconds_used, cancel_wished, waiting, place, tags) VALUES ($1, $2, "
      "$3, $4, $5, $6, $7, $8, $9, $10, 0, 0, 0, 0, 1, $11, $12)",
      number, job, wishes.priority, wishes.resources.cores, wishes.resources.memory_mb, wishes.resources.gpus,
      wishes.seconds_max, wishes.cost_max, wishes.attempts_max, now_ms(), wishes.place,
      fmt::format("{}", fmt::join(wishes.tags, " ")));
  for (const int64_t need : needs)
    database.query("INSERT INTO dependencies (run, needs) VALUES ($1, $2)", number, need);
  if (!key.empty())
    database.query("INSERT INTO submissions (user_name, key, run) VALUES ($1, $2, $3)", run.user, key, number);
  return id;
}

QueuedJob queued_job(Database& database, const std::string& run) {
  return std::move(job_of(database, run).job);
}

std::vector<QueuedJob> queue(Database& database) {
  std::vector<QueuedJob> jobs;
  for (Job& job : queue_at(database, now_ms())) jobs.push_back(std::move(job.job));
  return jobs;
}

std::set<std::string> readable_queue(Database& database, const Viewer& viewer) {
  SqlText text;
  text << "SELECT r.id FROM jobs j JOIN runs r ON r.number = j.run WHERE j.waiting <> 0 AND "
       << readable_sql(kReadableRuns, viewer, text);
  std::set<std::string> runs;
  for (const Row& row : text.rows(database)) runs.insert(row.text(0));
  return runs;
}

std::optional<Attempt> start_next(Database& database, const Room& room, int64_t now_ms) {
  std::optional<int64_t> blocked;  // the priority of the first that does not fit
  std::vector<HostMark> marks = room.host.empty() ? std::vector<HostMark>() : host_marks(database);
  std::erase_if(marks, [&](const HostMark& mark) { return mark.host != room.host; });
  for (Job& job : queue_at(database, now_ms)) {
    if (!waits(job.job.state) || !job.job.held_by.empty() || !is_for(job.job, room, marks)) continue;
    if (blocked && job.job.wishes.priority < *blocked) break;
    if (!fits(job.job.wishes.resources, room.free)) {
      blocked = job.job.wishes.priority;
      continue;
    }
    const int64_t number = ++job.job.attempts;
    database.query(
        "INSERT INTO attempts (run, number, started_ms, ended_ms, outcome, seconds, reason) VALUES ($1, $2, $3, 0, "
        "'', 0, '')",
        job.number, number, now_ms);
    database.query("UPDATE jobs SET attempts = $2 WHERE run = $1", job.number, number);
    change_state(database, job.number, RunState::kStarting, fmt::format("attempt {}", number));
    job.job.state = RunState::kStarting;
    return Attempt{std::move(job.job), number};
  }
  return std::nullopt;
}

void attempt_waits(Database& database, const std::string& run, int64_t attempt, const std::string& reason) {
  const Job job = job_of(database, run);
  if (job.job.attempts != attempt || job.job.state != RunState::kStarting || job.job.cancel_wished) return;
  database.query("UPDATE runs SET reason = $2 WHERE number = $1", job.number, reason);
  database.query("UPDATE attempts SET started_ms = 0 WHERE run = $1 AND number = $2", job.number, attempt);
}

bool attempt_has_ended(Database& database, const std::string& run, int64_t attempt) {
  return database
      .first(
          "SELECT 1 FROM attempts a JOIN runs r ON r.number = a.run WHERE r.id = $1 AND a.number = $2 AND a.ended_ms "
          "<> 0",
          run, attempt)
      .has_value();
}

void attempt_running(Database& database, const std::string& run, int64_t attempt, const std::string& reason) {
  const Job job = job_of(database, run);
  if (job.job.attempts != attempt || job.job.state != RunState::kStarting) return;
  database.query("UPDATE attempts SET started_ms = $3 WHERE run = $1 AND number = $2 AND started_ms = 0", job.number,
                 attempt, now_ms());
  change_state(database, job.number, RunState::kRunning, job.job.cancel_wished ? job.job.reason : reason);
}

RunState attempt_ended(Database& database, const std::string& run, int64_t attempt, Outcome outcome, double seconds,
                       const std::string& reason) {
  const Job job = job_of(database, run);
  const QueuedJob& j = job.job;
  // By the attempt's own record: the run's state may also be changed by a client within the job that ends its run.
  if (j.attempts != attempt ||
      !database.first("SELECT 1 FROM attempts WHERE run = $1 AND number = $2 AND ended_ms = 0", job.number, attempt))
    return j.state;
  const double used = j.seconds_used + std::max(0.0, seconds);
  database.query(
      "UPDATE attempts SET ended_ms = $3, outcome = $4, seconds = $5, reason = $6 WHERE run = $1 AND number = $2",
      job.number, attempt, now_ms(), to_string(outcome), seconds, reason);
  database.query("UPDATE jobs SET seconds_used = $2 WHERE run = $1", job.number, used);

  const auto end = [&](RunState state, const std::string& why) {
    end_job(database, job.number, state, why);
    return state;
  };
  if (outcome == Outcome::kSucceeded) return end(RunState::kSucceeded, reason);
  if (outcome == Outcome::kFailed) return end(RunState::kFailed, reason);
  if (outcome == Outcome::kRefused) return end(RunState::kFailedPrechecks, reason);
  if (outcome == Outcome::kCancelled || j.cancel_wished)
    return end(RunState::kCancelled, j.cancel_wished ? j.reason : reason);
  const RunState otherwise = outcome == Outcome::kPreempted ? RunState::kFailed : RunState::kLost;
  if (j.wishes.seconds_max > 0 && used >= static_cast<double>(j.wishes.seconds_max))
    return end(otherwise, fmt::format("{} ({:.0f} of {} s are used up)", reason, used, j.wishes.seconds_max));
  if (attempt - job.attempts_before >= j.wishes.attempts_max)
    return end(otherwise,
               fmt::format("{} (attempt {} of {})", reason, attempt - job.attempts_before, j.wishes.attempts_max));
  change_state(database, job.number, RunState::kRecovering, reason);
  return RunState::kRecovering;
}

void cancel(Database& database, const std::string& run, const std::string& reason) {
  const Job job = job_of(database, run);
  if (ended(job.job.state))
    throw Refusal(RefusalKind::kState,
                  fmt::format("[queue] {} has ended as {} and cannot be cancelled", run, to_string(job.job.state)));
  if (waits(job.job.state)) {
    end_job(database, job.number, RunState::kCancelled, reason);
    return;
  }
  database.query("UPDATE jobs SET cancel_wished = 1 WHERE run = $1", job.number);
  database.query("UPDATE runs SET reason = $2 WHERE number = $1", job.number, reason);
}

void resume(Database& database, const std::string& run) {
  const Job job = job_of(database, run);
  const QueuedJob& j = job.job;
  if (!ended(j.state) || j.state == RunState::kSucceeded)
    throw Refusal(RefusalKind::kState, fmt::format("[queue] {} is {}; only what has ended without success is resumed",
                                                   run, to_string(j.state)));
  if (j.wishes.seconds_max > 0 && j.seconds_used >= static_cast<double>(j.wishes.seconds_max))
    throw Refusal(RefusalKind::kState, fmt::format("[queue] {} has used {:.0f} of its {} s; submit it again with more",
                                                   run, j.seconds_used, j.wishes.seconds_max));
  for (const Row& row :
       database.query("SELECT r.id, r.state FROM dependencies d JOIN runs r ON r.number = d.needs WHERE d.run = "
                      "$1",
                      job.number)) {
    const RunState state = run_state(row.text(1));
    if (ended(state) && state != RunState::kSucceeded)
      throw Refusal(RefusalKind::kState,
                    fmt::format("[queue] {} depends on {}, which ended as {}; resume that one first", run, row.text(0),
                                to_string(state)));
  }
  run_number(database, run, true);
  check_quota(database, j.user, j.wishes.resources);
  database.query("UPDATE jobs SET waiting = 1, cancel_wished = 0, attempts_before = attempts WHERE run = $1",
                 job.number);
  change_state(database, job.number, RunState::kPending, "resumed");
}

}  // namespace linac::catalog
