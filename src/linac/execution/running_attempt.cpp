#include "linac/execution/running_attempt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "linac/base/atomic_file.h"
#include "linac/base/clock.h"
#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/refusal.h"
#include "linac/base/safe_path.h"
#include "linac/execution/news.h"
#include "linac/execution/record/run_facts.h"
#include "linac/execution/record/run_log.h"
#include "linac/launch/attempt_folder.h"
#include "linac/launch/local_launcher.h"
#include "linac/spec/run_record.h"

namespace linac::execution {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::seconds kStartMax{20};  // until the supervisor shows
constexpr int kStartsMax = 3;
constexpr std::chrono::milliseconds kWishesEvery{500};
constexpr int kRefusalsMax = 20;  // of what the run tells; then it runs on unheard
constexpr int64_t kLogPieceMax = 64 << 10, kLogTailBytes = 64 << 10;

std::string piece_of(const Descriptor& file, int64_t from, int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), from);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

int64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

}  // namespace

RunningAttempt::RunningAttempt(Site& site, launch::Launcher& launcher, const AttemptSettings& settings,
                               catalog::QueuedJob job, int64_t number, launch::Limits limits)
    : site_(site),
      launcher_(launcher),
      settings_(settings),
      job_(std::move(job)),
      number_(number),
      limits_(std::move(limits)),
      places_(site, site.run(job_.run)),
      follower_(site, job_.run, places_.outputs),
      told_running_(job_.state == catalog::RunState::kRunning),
      begun_at_(steady_clock::now()) {
  if (job_.cancel_wished) cause_ = StopCause::kCancelled;
}

void RunningAttempt::prepare_folders(const std::string& account) const {
  make_folder(places_.root);
  make_folder(places_.outputs);
  write_file_atomically(places_.job, job_.job);
  if (account == launch::own_account()) return;
  const passwd* entry = getpwnam(account.c_str());
  if (entry == nullptr || lchown(places_.outputs.c_str(), entry->pw_uid, entry->pw_gid) != 0)
    throw environment_error(fmt::format("[queue] {}: cannot be given to '{}'", places_.outputs.string(), account));
  using std::filesystem::perms;
  std::filesystem::permissions(places_.job, perms::others_read, std::filesystem::perm_options::add);
  // The account has to come through to its folder; it need not see what else is there.
  const auto data = std::filesystem::absolute(site_.data);
  for (const auto& leaf : {places_.root, places_.outputs.parent_path()})
    for (auto folder = leaf; folder.string().size() >= data.string().size(); folder = folder.parent_path())
      std::filesystem::permissions(folder, perms::others_exec, std::filesystem::perm_options::add);
}

std::string RunningAttempt::begin() {
  ++begun_;
  begun_at_ = steady_clock::now();
  std::string account;
  site_.books.read([&](catalog::Database& books) { account = settings_.account(books, job_.user); });
  if (const std::string why = launch::why_not_as(account); !why.empty())
    return fmt::format("jobs of '{}' cannot run here: {}; an admin declares the account", job_.user, why);
  try {
    prepare_folders(account);
    launch::Command command;
    command.argv = settings_.command(places_.job.string(), places_.outputs.string());
    command.directory = places_.outputs.string();
    command.log = places_.log.string();
    command.account = account;
    command.environment = {{"LINAC_RUN", job_.run}};
    command.limits = limits_;
    command.stop_grace_s = settings_.stop_grace_s;
    launcher_.start(places_.attempt(number_), command);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

double RunningAttempt::seconds() const {
  struct stat about {};
  const auto file = places_.attempt(number_) / "supervisor.json";
  if (::stat(file.c_str(), &about) != 0) return 0;
  const double begin = static_cast<double>(about.st_mtim.tv_sec) + 1e-9 * static_cast<double>(about.st_mtim.tv_nsec);
  return std::max(0.0, 1e-3 * static_cast<double>(now_ms()) - begin);
}

double RunningAttempt::cost(double seconds) const {
  return settings_.prices.of(job_.wishes.resources, job_.seconds_used + seconds);
}

void RunningAttempt::tell_running() {
  if (told_running_) return;
  site_.books.write([&](catalog::Database& books) { catalog::attempt_running(books, job_.run, number_); });
  told_running_ = true;
  publish_state(site_.news, job_.run, catalog::RunState::kRunning, fmt::format("attempt {}", number_));
}

void RunningAttempt::tell_log() {
  const int64_t size = size_of(places_.log);
  if (log_told_ < 0) log_told_ = size;
  if (size <= log_told_) return;
  const Descriptor file(::open(places_.log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return;
  const int64_t from = std::max(log_told_, size - kLogPieceMax);
  publish_log(site_.news, job_.run, from, piece_of(file, from, size - from));
  log_told_ = size;
}

void RunningAttempt::follow() {
  tell_log();
  if (refusals_ >= kRefusalsMax) return;
  try {
    follower_.poll();
    const int64_t step = static_cast<int64_t>(job_.seconds_used + seconds());
    auto points = sampler_.sample(places_.attempt(number_), limits_.gpus, step, now_ms());
    if (points.empty()) return;
    if (settings_.prices.known()) points.push_back({"system/cost", {step, now_ms(), cost(seconds())}});
    site_.books.write([&](catalog::Database& books) { catalog::append_points(books, job_.run, points); });
    site_.news.publish_points(job_.run, points);
    refusals_ = 0;
  } catch (const Refusal& refusal) {
    if (++refusals_ == kRefusalsMax)
      log::warn(fmt::format("[queue] {}: what it tells is no longer written down: {}", job_.run, refusal.what()));
  }
}

void RunningAttempt::stop_if_due() {
  if (cause_ == StopCause::kNone) {
    const double used = job_.seconds_used + seconds();
    if (job_.wishes.seconds_max > 0 && used >= static_cast<double>(job_.wishes.seconds_max))
      cause_ = StopCause::kTimeUsedUp;
    else if (job_.wishes.cost_max > 0 && cost(seconds()) >= job_.wishes.cost_max)
      cause_ = StopCause::kCostUsedUp;
    else if (steady_clock::now() - wishes_read_ > kWishesEvery) {
      site_.books.read([&](catalog::Database& books) {
        if (catalog::queued_job(books, job_.run).cancel_wished) cause_ = StopCause::kCancelled;
      });
      wishes_read_ = steady_clock::now();
    }
  }
  if (cause_ != StopCause::kNone) launcher_.stop(places_.attempt(number_));
}

bool RunningAttempt::began() const {
  return site_.books.read_as([&](catalog::Database& books) { return !cursor_of(books, job_.run).steps.empty(); });
}

std::string RunningAttempt::told_reason() const {
  try {
    const Descriptor file = open_below(places_.outputs, spec::kSummaryFile);
    struct stat about {};
    // One of an earlier attempt tells of another failure.
    const bool of_this =
        ::fstat(file.get(), &about) == 0 &&
        static_cast<double>(about.st_mtim.tv_sec) + seconds() + 1 >= 1e-3 * static_cast<double>(now_ms());
    const RunFacts facts = facts_of(piece_of(file, 0, kFactFileBytesMax));
    if (of_this && facts.status == spec::to_string(spec::RunStatus::kFailed) && !facts.error.empty()) return facts.error;
  } catch (const Error&) {  // it ended before there was one
  }
  const Descriptor log(::open(places_.log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!log) return "";
  const int64_t size = size_of(places_.log), from = std::max<int64_t>(0, size - kLogTailBytes);
  return reason_in_log(piece_of(log, from, size - from));
}

AttemptEnd RunningAttempt::ended(const launch::AttemptStatus& status) {
  tell_log();
  try {
    follower_.finish();
  } catch (const Refusal& refusal) {
    log::warn(fmt::format("[queue] {}: its last words are lost: {}", job_.run, refusal.what()));
  }
  AttemptEnd end{judge(status, cause_, began(), told_reason()), status.exit ? status.exit->seconds : seconds()};
  // The clock by which it was stopped began a moment before the process's own.
  if (cause_ == StopCause::kTimeUsedUp)
    end.seconds = std::max(end.seconds, static_cast<double>(job_.wishes.seconds_max) - job_.seconds_used);
  if (settings_.prices.known()) {
    const std::string cost_text = fmt::format("{:.4f} {}", cost(end.seconds), settings_.prices.currency);
    site_.books.write([&](catalog::Database& books) {
      catalog::set_run_tags(books, job_.run, {{"linac.cost", cost_text}});
    });
  }
  return end;
}

std::optional<AttemptEnd> RunningAttempt::not_started() {
  // A new service takes up what the one before had written down, and perhaps no more than that. start() does nothing
  // twice.
  if (begun_ > 0 && steady_clock::now() - begun_at_ < kStartMax) return std::nullopt;
  if (begun_ == 0 && cause_ == StopCause::kCancelled) return AttemptEnd{{catalog::Outcome::kCancelled, "cancelled"}, 0};
  std::string why;
  if (begun_ < kStartsMax)
    why = begin();
  else
    why = fmt::format("its process does not start; {} may say why",
                      (places_.attempt(number_) / "supervisor.log").string());
  if (why.empty()) return std::nullopt;
  return AttemptEnd{{catalog::Outcome::kFailed, why}, 0};
}

std::optional<AttemptEnd> RunningAttempt::poll() {
  const launch::AttemptStatus status = launcher_.status(places_.attempt(number_));
  switch (status.state) {
    case launch::AttemptState::kNotStarted:
      return not_started();
    case launch::AttemptState::kRunning:
      tell_running();
      follow();
      stop_if_due();
      return std::nullopt;
    case launch::AttemptState::kEnded:
    case launch::AttemptState::kLost:
      tell_running();
      return ended(status);
  }
  return std::nullopt;
}

}  // namespace linac::execution
