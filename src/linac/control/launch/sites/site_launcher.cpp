#include "linac/control/launch/sites/site_launcher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/log.h"
#include "linac/base/base/secure_random.h"
#include "linac/base/job/job.h"
#include "linac/control/sites/abilities.h"
#include "linac/control/sites/exclude.h"
#include "linac/control/sites/launching.h"

namespace linac::launch {
namespace {

using job::RunState;
using std::chrono::steady_clock;

constexpr size_t kMarkDigits = 8, kLogWaitingMax = 1 << 20;
constexpr std::chrono::milliseconds kLookEvery{250};  // whether somebody is to be asked for
constexpr std::chrono::seconds kAfterFailure{2}, kAfterFailureMax{60};
constexpr int kLostAnswers = 2;       // before it is believed: a shared disk shows things late
constexpr int kLastFailuresMax = 30;  // to bring what has ended: some fifteen minutes
constexpr int kPiecesAtATime = 16;    // of a log

std::string hosts_in(const sites::Standing& standing) {
  for (const auto& [what, value] : standing.details)
    if (what == "hosts") return value;
  return "";
}

/// Marks may have names that no place knows: they are left out.
std::vector<std::string> hosts_in(std::vector<std::string> marked) {
  std::erase_if(marked, [](const std::string& host) { return !sites::is_host_word(host); });
  return marked;
}

/// A label is RUN-NUMBER: all attempts of a run have one folder.
std::string run_in(const std::string& label) {
  return label.substr(0, label.rfind('-'));
}

AttemptStatus end_of(const sites::Standing& standing, int64_t started_ms, std::vector<std::string> hosts) {
  AttemptStatus status;
  status.hosts = std::move(hosts);
  status.state = AttemptState::kEnded;
  status.reason = standing.reason;
  status.started_ms = started_ms;
  std::optional<int> exit = standing.exit;
  if (standing.state == RunState::kSucceeded) exit = 0;
  if (exit) {
    const int64_t now = now_ms();
    status.exit.emplace();
    status.exit->status = *exit;
    status.exit->ended_ms = now;
    status.exit->seconds = started_ms == 0 ? 0 : 1e-3 * static_cast<double>(now - started_ms);
  } else if (standing.state == RunState::kLost) {
    status.state = AttemptState::kLost;
  }
  return status;
}

}  // namespace

std::string mark_of(const std::filesystem::path& folder) {
  make_folder(folder);
  const auto file = folder / "mark";
  std::error_code none;
  if (std::filesystem::exists(file, none)) {
    const std::string mark = read_file(file);
    if (mark.size() == kMarkDigits && is_hex(mark)) return mark;
    throw environment_error(
        fmt::format("[queue] {}: is no mark of a service; with another one, what it has at sites is not found again",
                    file.string()));
  }
  const std::string mark = random_hex(kMarkDigits);
  write_file_atomically(file, mark);
  return mark;
}

struct SiteLauncher::Held {
  // All of it under the launcher's mutex, but `copy`, which is the thread's.
  std::optional<SiteAttempt> attempt;  // none: it is prepared, and no more
  Demand demand;
  AttemptStatus status;
  bool cancel_wished = false, released = false, has_ended = false;
  int64_t log_begin = 0;  // of `log`, which nobody has taken yet
  std::string log;
  steady_clock::time_point due{};
  int lost_answers = 0, failures = 0;
  std::optional<RunCopy> copy;
};

SiteLauncher::SiteLauncher(std::shared_ptr<const sites::Site> site, SiteLauncherSettings settings)
    : site_(std::move(site)),
      settings_(std::move(settings)),
      mark_(mark_of(settings_.folder)),
      files_(settings_.folder / site_->name()),
      thread_([this] { run(); }) {}

SiteLauncher::~SiteLauncher() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

Capacity SiteLauncher::capacity() {
  constexpr int64_t kCoresMax = 1 << 20, kMemoryMbMax = int64_t{1} << 40, kGpusMax = 1 << 20;
  return {{kCoresMax, kMemoryMbMax, kGpusMax}, {}};
}

std::vector<Vacancy> SiteLauncher::vacancies() {
  const std::lock_guard lock(mutex_);
  if (attempts_.size() >= kAtATimeMax) return {};
  const Demand all = capacity().all;
  return {{all, all}};
}

SiteLauncher::HeldAttempt SiteLauncher::find(const std::string& label) {
  const auto found = attempts_.find(label);
  return found == attempts_.end() ? nullptr : found->second;
}

// With what a former service has kept of it.
SiteLauncher::HeldAttempt SiteLauncher::hold(const std::string& label) {
  HeldAttempt& held = attempts_[label];
  if (held) return held;
  held = std::make_shared<Held>();
  try {
    held->attempt = files_.find(label);
  } catch (...) {
    attempts_.erase(label);
    throw;
  }
  if (held->attempt) {
    held->status.state = AttemptState::kQueued;
    held->status.reason = fmt::format("{} is being asked for it", site_->name());
    held->cancel_wished = held->attempt->cancelled_ms != 0;
  }
  return held;
}

void SiteLauncher::prepare(const AttemptKey& attempt, const Demand& demand) {
  const std::lock_guard lock(mutex_);
  hold(attempt.label)->demand = demand;
  woken_ = true;
  changed_.notify_one();
}

void SiteLauncher::start(const AttemptKey& key, const Command& command) {
  const std::lock_guard lock(mutex_);
  Held& held = *hold(key.label);
  if (held.attempt) return;
  if (!command.secrets.empty())
    throw environment_error(
        fmt::format("[queue] secrets of a job are not brought to {}: others could read them there; leave "
                    "them out of the job, or submit it --on pilots",
                    site_->name()));
  const std::string name = fmt::format("linac-{}-{}", mark_, key.label);
  sites::Wishes wishes;
  wishes.name = name;
  if (site_->facts().excludes) wishes.exclude = hosts_in(held.demand.avoid);
  sites::Launch launch = sites::make_launch(*site_, job::parse_job(command.job, "the job", {}), wishes);
  launch.seconds_max = held.demand.seconds_max;
  launch.out = sites::default_out(*site_, fmt::format("linac-{}-{}", mark_, run_in(key.label)), false);
  SiteAttempt attempt;
  attempt.label = key.label;
  attempt.stop_grace_s = command.stop_grace_s;
  attempt.kept.launch = launch;
  attempt.kept.record = {name, site_->name(), site_->common().kind, site_->common().folder, launch.out, "", {}};
  attempt.kept.started_ms = now_ms();
  attempt.kept.record.hosts = sites::chosen_hosts(*site_, launch);
  sites::tell_left_out(*site_, launch);
  site_->plan(launch);  // what is wrong with it is known before anything is kept
  files_.keep(attempt);
  held.attempt = std::move(attempt);
  held.status.state = AttemptState::kQueued;
  held.status.reason = fmt::format("it is brought to {}", site_->name());
  woken_ = true;
  changed_.notify_one();
}

AttemptStatus SiteLauncher::status(const AttemptKey& attempt) {
  const std::lock_guard lock(mutex_);
  const HeldAttempt held = find(attempt.label);
  return held ? held->status : AttemptStatus{};
}

std::optional<std::string> SiteLauncher::output(const AttemptKey& attempt, int64_t from, size_t bytes_max) {
  const std::lock_guard lock(mutex_);
  const HeldAttempt held = find(attempt.label);
  if (!held) return "";
  const int64_t end = held->log_begin + static_cast<int64_t>(held->log.size());
  if (from < held->log_begin || from > end) {  // a former service has taken what is before
    held->log.clear();
    held->log_begin = from;
    return "";
  }
  held->log.erase(0, static_cast<size_t>(from - held->log_begin));
  held->log_begin = from;
  return held->log.substr(0, bytes_max);
}

void SiteLauncher::cancel(const AttemptKey& attempt) {
  const std::lock_guard lock(mutex_);
  HeldAttempt held = find(attempt.label);
  if (!held && attempt.folder.empty()) {  // one that ended in the catalog, and whose file is there still
    held = hold(attempt.label);
    held->released = true;
  }
  if (!held || std::exchange(held->cancel_wished, true)) return;
  held->due = {};
  woken_ = true;
  changed_.notify_one();
}

void SiteLauncher::release(const AttemptKey& attempt) {
  const std::lock_guard lock(mutex_);
  const HeldAttempt held = find(attempt.label);
  if (!held) return;
  held->released = true;
  if (!held->has_ended) held->cancel_wished = true;
  held->due = {};
  woken_ = true;
  changed_.notify_one();
}

void SiteLauncher::keep(Held& held, const SiteAttempt& attempt) {
  files_.keep(attempt);
  const std::lock_guard lock(mutex_);
  held.attempt = attempt;
}

void SiteLauncher::ended(Held& held, AttemptStatus status) {
  const std::lock_guard lock(mutex_);
  held.status = std::move(status);
  held.has_ended = true;
}

void SiteLauncher::submit(Held& held, SiteAttempt attempt) {
  bool cancelled = false;
  {
    const std::lock_guard lock(mutex_);
    cancelled = held.cancel_wished;
  }
  if (cancelled && !attempt.tried) return ended(held, {AttemptState::kEnded, "cancelled", 0, {}, {}});
  if (cancelled) return ask(held, std::move(attempt));  // the site may have it
  attempt.tried = true;
  keep(held, attempt);
  try {
    attempt.kept.record.id = site_->submit(attempt.kept.launch);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kEnvironment) throw;
    return ended(held, {AttemptState::kEnded, error.what(), 0, {}, {}});
  }
  attempt.kept.submitted = true;
  keep(held, attempt);
  ask(held, std::move(attempt));
}

// Once gently, and again when its grace is over.
void SiteLauncher::end_if_wished(Held& held, SiteAttempt& attempt, const sites::Standing& standing) {
  {
    const std::lock_guard lock(mutex_);
    if (!held.cancel_wished) return;
  }
  if (job::ended(standing.state)) return;
  const int64_t now = now_ms();
  if (attempt.cancelled_ms != 0 && 1e-3 * static_cast<double>(now - attempt.cancelled_ms) < attempt.stop_grace_s)
    return;
  attempt.cancelled_ms = now;
  keep(held, attempt);  // a service that dies here asks for it with less grace, and not without
  log::info(fmt::format("[queue] {} at {}: {}", attempt.label, site_->name(), site_->cancel(attempt.kept.record)));
}

// Whether nothing more is there for now.
bool SiteLauncher::copy_log(Held& held, const SiteAttempt& attempt) {
  for (int i = 0; i < kPiecesAtATime; ++i) {
    int64_t from = 0;
    {
      const std::lock_guard lock(mutex_);
      if (held.log.size() >= kLogWaitingMax) return false;
      from = held.log_begin + static_cast<int64_t>(held.log.size());
    }
    const std::string piece = site_->log(attempt.kept.record, from);
    if (piece.empty()) return true;
    const std::lock_guard lock(mutex_);
    if (from == held.log_begin + static_cast<int64_t>(held.log.size())) held.log += piece;
  }
  return false;
}

void SiteLauncher::bring_what_is_new(Held& held, const SiteAttempt& attempt) {
  copy_log(held, attempt);
  held.copy->follow(*site_, attempt.kept.record);
}

// Whether all is here, or cannot be had.
bool SiteLauncher::bring_rest(Held& held, const SiteAttempt& attempt) {
  try {
    if (!copy_log(held, attempt)) return false;
    held.copy->finish(*site_, attempt.kept.record);
    return true;
  } catch (const Error& error) {
    if (held.failures < kLastFailuresMax) throw;
    const std::string words = fmt::format("[queue] what the run has left stays at {} in {}: {}", site_->name(),
                                          attempt.kept.record.out, error.what());
    log::error(attempt.label + ": " + words);
    const std::lock_guard lock(mutex_);
    held.log += words + "\n";
    return true;
  }
}

void SiteLauncher::ask(Held& held, SiteAttempt attempt) {
  const sites::Standing standing = site_->standing(attempt.kept.record);
  end_if_wished(held, attempt, standing);
  const bool over = job::ended(standing.state);
  if (standing.state == RunState::kLost && !standing.exit && attempt.cancelled_ms == 0 &&
      ++held.lost_answers < kLostAnswers)
    return;
  if (standing.state != RunState::kLost) held.lost_answers = 0;
  const bool began = standing.state == RunState::kRunning || standing.state == RunState::kRecovering ||
                     standing.state == RunState::kSucceeded || standing.exit.has_value();
  if (began && attempt.started_ms == 0) {
    attempt.started_ms = now_ms();
    keep(held, attempt);
  }
  bool released = false;
  const std::string inside = hosts_in(standing);
  const std::vector<std::string> hosts{inside.empty() ? site_->name() : fmt::format("{} ({})", site_->name(), inside)};
  {
    const std::lock_guard lock(mutex_);
    held.status = {attempt.started_ms != 0 ? AttemptState::kRunning : AttemptState::kQueued,
                   site_->name() + (standing.reason.empty() ? "" : ": " + standing.reason),
                   attempt.started_ms,
                   hosts,
                   {}};
    released = held.released;
  }
  if (!over) {
    if (attempt.started_ms != 0) bring_what_is_new(held, attempt);
    return;
  }
  if (attempt.started_ms == 0 || released || bring_rest(held, attempt))
    ended(held, end_of(standing, attempt.started_ms, hosts));
}

void SiteLauncher::tidy_up(const SiteAttempt& attempt) {
  // What is done stays there until somebody asks for its end.
  if (attempt.tried && site_->facts().forgets) site_->cancel(attempt.kept.record);
  files_.forget(attempt.label);
}

bool SiteLauncher::look_after(Held& held) {
  std::optional<SiteAttempt> attempt;
  bool over = false, released = false;
  {
    const std::lock_guard lock(mutex_);
    attempt = held.attempt;
    over = held.has_ended;
    released = held.released;
  }
  if (!attempt) return released;
  if (over) {
    if (released) tidy_up(*attempt);
    return released;
  }
  if (!held.copy) held.copy.emplace(settings_.outputs(attempt->label), settings_.keep_free);
  if (attempt->kept.submitted)
    ask(held, std::move(*attempt));
  else
    submit(held, std::move(*attempt));
  return false;
}

void SiteLauncher::run() {
  for (;;) {
    std::map<std::string, HeldAttempt> all;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kLookEvery, [&] { return woken_ || stopping_; });
      woken_ = false;
      if (stopping_) return;
      all = attempts_;
    }
    for (const auto& [label, held] : all) {
      const auto now = steady_clock::now();
      {
        const std::lock_guard lock(mutex_);
        if (stopping_) return;
        if (now < held->due) continue;
      }
      try {
        const bool done = look_after(*held);
        const std::lock_guard lock(mutex_);
        held->failures = 0;
        held->due = held->released && held->has_ended ? now : steady_clock::now() + site_->facts().pause;
        if (done) attempts_.erase(label);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex_);
        held->failures += 1;
        held->due = now + std::min(kAfterFailureMax, kAfterFailure * held->failures);
        // That the place cannot be asked says nothing of the attempt.
        if (!held->has_ended) held->status.reason = error.what();
        if (held->failures == 1) log::warn(fmt::format("[queue] {} at {}: {}", label, site_->name(), error.what()));
      }
    }
  }
}

}  // namespace linac::launch
