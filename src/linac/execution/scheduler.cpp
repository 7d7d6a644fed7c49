#include "linac/execution/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "linac/base/clock.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/catalog/users.h"
#include "linac/execution/news.h"
#include "linac/launch/attempt_folder.h"
#include "linac/launch/local_launcher.h"

namespace linac::execution {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEvery{200}, kIdleMax{2000}, kAfterFailure{1000};
constexpr std::chrono::seconds kComplainEvery{10};
constexpr std::chrono::seconds kQueueEvery{10};  // in case that somebody else has changed it

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

}  // namespace

AttemptSettings attempt_settings(bool authentication) {
  AttemptSettings settings;
  settings.command = [program = this_program()](const std::string& job, const std::string& outputs) {
    return std::vector<std::string>{program, "train", job, "--out", outputs, "--resume"};
  };
  settings.account = [authentication](catalog::Database& books, const std::string& user) {
    return authentication ? catalog::user(books, user).account : launch::own_account();
  };
  return settings;
}

std::unique_ptr<launch::Launcher> local_launcher() {
  return std::make_unique<launch::LocalLauncher>(std::vector<std::string>{this_program(), "supervise"});
}

Scheduler::Scheduler(Site& site, SchedulerOptions options, std::unique_ptr<launch::Launcher> launcher)
    : site_(site),
      options_(std::move(options)),
      all_slots_(options_.slots),
      launcher_(std::move(launcher)),
      slots_(options_.slots) {
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

void Scheduler::add(catalog::QueuedJob job, int64_t number, launch::Limits limits) {
  running_.push_back(std::make_unique<RunningAttempt>(site_, *launcher_, options_.attempts, std::move(job), number,
                                                      std::move(limits)));
}

void Scheduler::take_up() {
  const auto jobs = site_.books.read_as([](catalog::Database& books) { return catalog::queue(books); });
  for (const catalog::QueuedJob& job : jobs) {
    if (job.state != catalog::RunState::kStarting && job.state != catalog::RunState::kRunning) continue;
    const bool known = std::any_of(running_.begin(), running_.end(), [&](const auto& attempt) {
      return attempt->job().run == job.run && attempt->number() == job.attempts;
    });
    if (known) continue;
    const auto folder = RunPlaces(site_, site_.run(job.run)).attempt(job.attempts);
    const auto command = launch::AttemptFolder(folder).command();
    // An attempt that had no folder yet has nothing that is its own.
    launch::Limits limits = command ? command->limits : slots_.take(job.wishes.resources).value_or(launch::Limits());
    if (command) slots_.retake(limits, job.wishes.resources);
    log::info(fmt::format("[queue] {}: attempt {} is under way", job.run, job.attempts));
    add(job, job.attempts, std::move(limits));
  }
}

void Scheduler::finish(const RunningAttempt& attempt, const AttemptEnd& end) {
  const catalog::QueuedJob& job = attempt.job();
  const auto state = site_.books.write([&](catalog::Database& books) {
    return catalog::attempt_ended(books, job.run, attempt.number(), end.verdict.outcome, end.seconds,
                                  end.verdict.reason);
  });
  const std::string reason = site_.run(job.run).reason;
  slots_.give_back(attempt.limits(), job.wishes.resources);
  log::info(fmt::format("[queue] {}: {}{}", job.run, to_string(state), reason.empty() ? "" : ": " + reason));
  publish_state(site_.news, job.run, state, reason);
}

bool Scheduler::look_after(RunningAttempt& attempt) {
  try {
    const auto end = attempt.poll();
    if (end) finish(attempt, *end);
    return end.has_value();
  } catch (const std::exception& error) {
    // The books cannot be reached, most likely. Whatever it was, it is tried again, and the others need not wait for
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
  while (slots_.free().cores > 0) {
    const catalog::Resources free = slots_.free();
    auto next = site_.books.write([&](catalog::Database& books) { return catalog::start_next(books, free, now_ms()); });
    if (!next) return;
    publish_state(site_.news, next->job.run, catalog::RunState::kStarting, fmt::format("attempt {}", next->number));
    const catalog::Resources wanted = next->job.wishes.resources;
    auto limits = slots_.take(wanted);
    LINAC_CHECK(limits.has_value());
    try {
      add(std::move(next->job), next->number, *limits);
    } catch (...) {
      slots_.give_back(*limits, wanted);
      throw;
    }
  }
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
      // An attempt may have begun in the books of which this thread has not heard.
      failed = true;
      log::error(fmt::format("[queue] {}", error.what()));
      wake();
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kAfterFailure, [&] { return stopping_; });
    }
  }
}

}  // namespace linac::execution
