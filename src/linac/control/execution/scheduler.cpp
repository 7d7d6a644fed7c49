#include "linac/control/execution/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>

#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/control/execution/news.h"

namespace linac::execution {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEvery{200}, kIdleMax{2000}, kAfterFailure{1000};
constexpr std::chrono::seconds kComplainEvery{10};
constexpr std::chrono::seconds kQueueEvery{10};  // in case that somebody else has changed it

catalog::Resources resources_of(const launch::Demand& demand) {
  return {demand.cores, demand.memory_mb, demand.gpus};
}

catalog::Room room_of(const launch::Vacancy& vacancy, const std::string& place) {
  return {resources_of(vacancy.all),
          resources_of(vacancy.free),
          place,
          vacancy.user,
          vacancy.tags,
          vacancy.free.seconds_max,
          vacancy.host};
}

}  // namespace

Scheduler::Scheduler(Host& host, AttemptSettings attempts, std::unique_ptr<launch::Launcher> own_host,
                     std::map<std::string, std::unique_ptr<launch::Launcher>> others)
    : host_(host), attempts_(std::move(attempts)), launchers_(std::move(others)) {
  launchers_[catalog::kOwnHost] = std::move(own_host);
  for (const auto& [place, launcher] : launchers_) all_[place] = launcher->capacity().all;
  take_up();
  thread_ = std::thread([this] { run(); });
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_one();
  thread_.join();
}

void Scheduler::wake() {
  {
    const std::lock_guard lock(mutex_);
    woken_ = true;
  }
  changed_.notify_one();
}

void Scheduler::add(catalog::QueuedJob job, int64_t number) {
  launch::Launcher& launcher = *launchers_.at(job.wishes.place);
  running_.push_back(std::make_unique<RunningAttempt>(host_, launcher, attempts_, std::move(job), number));
}

void Scheduler::take_up() {
  const auto jobs = host_.catalog.read_as([](catalog::Database& database) { return catalog::queue(database); });
  for (const catalog::QueuedJob& job : jobs) {
    if (job.state != catalog::RunState::kStarting && job.state != catalog::RunState::kRunning) continue;
    if (!launchers_.contains(job.wishes.place)) {
      log::warn(fmt::format("[queue] {}: it is at '{}', which is not declared here (any more); it waits until it is",
                            job.run, job.wishes.place));
      continue;
    }
    const bool known = std::any_of(running_.begin(), running_.end(), [&](const auto& attempt) {
      return attempt->job().run == job.run && attempt->number() == job.attempts;
    });
    if (known) continue;
    log::info(fmt::format("[queue] {}: attempt {} is under way", job.run, job.attempts));
    add(job, job.attempts);
  }
  cancel_orphans();
}

void Scheduler::cancel_orphans() {
  for (const auto& [place, launcher] : launchers_) {
    for (const std::string& label : launcher->labels()) {
      const auto attempt = attempt_of(label);
      // What the catalog does not know may be another service's.
      const bool orphan = attempt && host_.catalog.read_as([&](catalog::Database& database) {
        return catalog::attempt_has_ended(database, attempt->first, attempt->second);
      });
      if (!orphan) continue;
      log::warn(fmt::format("[queue] {}: attempt {} has ended in the catalog and is still there; it is cancelled",
                            attempt->first, attempt->second));
      launcher->cancel({label, {}});
    }
  }
}

void Scheduler::finish(RunningAttempt& attempt, const AttemptEnd& end) {
  const catalog::QueuedJob& job = attempt.job();
  const auto state = host_.catalog.write([&](catalog::Database& database) {
    return catalog::attempt_ended(database, job.run, attempt.number(), end.verdict.outcome, end.seconds,
                                  end.verdict.reason);
  });
  const std::string reason = host_.run(job.run).reason;
  attempt.release();
  log::info(fmt::format("[queue] {}: {}{}", job.run, to_string(state), reason.empty() ? "" : ": " + reason));
  publish_state(host_.news, job.run, state, reason);
}

bool Scheduler::look_after(RunningAttempt& attempt) {
  try {
    const auto end = attempt.poll();
    if (end) finish(attempt, *end);
    return end.has_value();
  } catch (const std::exception& error) {
    // The catalog cannot be reached, most likely. Whatever it was, it is tried again, and the others need not wait for
    // it.
    if (steady_clock::now() - complained_ > kComplainEvery) {
      complained_ = steady_clock::now();
      log::error(fmt::format("[queue] {}: {}", attempt.job().run, error.what()));
    }
    return false;
  }
}

void Scheduler::look_after_all() {
  if (std::erase_if(running_, [&](const auto& attempt) { return look_after(*attempt); }) > 0) wake();
}

void Scheduler::start_what_fits() {
  if (attempts_.may_begin && !attempts_.may_begin()) return;
  for (const auto& [place, launcher] : launchers_) {
    while (start_one(place, *launcher)) {
    }
  }
}

bool Scheduler::start_one(const std::string& place, launch::Launcher& launcher) {
  for (const launch::Vacancy& vacancy : launcher.vacancies()) {
    auto next = host_.catalog.write(
        [&](catalog::Database& database) { return catalog::start_next(database, room_of(vacancy, place), now_ms()); });
    if (!next) continue;
    publish_state(host_.news, next->job.run, catalog::RunState::kStarting, fmt::format("attempt {}", next->number));
    add(std::move(next->job), next->number);
    return true;
  }
  return false;
}

void Scheduler::run() {
  auto queue_read = steady_clock::time_point{};
  bool failed = false;
  for (;;) {
    bool woken = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, running_.empty() ? kIdleMax : kLookEvery, [&] { return woken_ || stopping_; });
      if (stopping_) return;
      woken = std::exchange(woken_, false);
    }
    try {
      look_after_all();
      if (woken || steady_clock::now() - queue_read > kQueueEvery) {
        queue_read = steady_clock::now();
        if (failed) take_up();
        failed = false;
        start_what_fits();
        look_after_all();
      }
    } catch (const std::exception& error) {
      // An attempt may have begun in the catalog of which this thread has not heard.
      failed = true;
      log::error(fmt::format("[queue] {}", error.what()));
      wake();
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kAfterFailure, [&] { return stopping_; });
    }
  }
}

}  // namespace linac::execution
