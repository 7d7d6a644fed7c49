#include "linac/control/execution/running_attempt.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/money.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/safe_path.h"
#include "linac/base/job/job.h"
#include "linac/base/job/run_record.h"
#include "linac/control/catalog/host_marks.h"
#include "linac/control/catalog/metrics.h"
#include "linac/control/catalog/secrets.h"
#include "linac/control/catalog/users.h"
#include "linac/control/execution/news.h"
#include "linac/control/execution/record/run_facts.h"
#include "linac/control/execution/record/run_log.h"
#include "linac/control/launch/accounts.h"

namespace linac::execution {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kWishesEvery{500};
constexpr int kRefusalsMax = 20;  // of what the run tells; then it runs on unheard
constexpr int64_t kLogPieceMax = 64 << 10, kLogTailBytes = 64 << 10;
constexpr int kLogPiecesMax = 64, kLogPiecesAtEndMax = 1 << 14;  // that one call brings

std::string piece_of(const Descriptor& file, int64_t from, int64_t size) {
  std::string bytes(static_cast<size_t>(size), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), from);
  bytes.resize(got > 0 ? static_cast<size_t>(got) : 0);
  return bytes;
}

void let_pass(const Descriptor& folder) {
  struct stat about {};
  if (::fstat(folder.get(), &about) != 0 || ::fchmod(folder.get(), (about.st_mode & 07777) | S_IXOTH) != 0)
    throw environment_error("[queue] a folder of the service cannot be opened to the job's account");
}

std::vector<std::string> names_of_secrets(const catalog::QueuedJob& job) {
  try {
    return job::parse_job(job.job, "the job", {}).secrets;
  } catch (const Error&) {  // the training says what is wrong with it
    return {};
  }
}

int64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(size);
}

}  // namespace

RunningAttempt::RunningAttempt(Host& host, launch::Launcher& launcher, const AttemptSettings& settings,
                               catalog::QueuedJob job, int64_t number)
    : host_(host),
      launcher_(launcher),
      settings_(settings),
      job_(std::move(job)),
      number_(number),
      places_(host, host.run(job_.run)),
      key_{fmt::format("{}-{}", job_.run, number), places_.attempt(number)},
      secret_names_(names_of_secrets(job_)),
      follower_(host, job_.run, places_.outputs,
                [this](catalog::Database& database, const job::AuditLine& line) { mark_hosts(database, line); }),
      log_copy_(places_.log, key_.folder),
      told_running_(job_.state == catalog::RunState::kRunning) {
  if (job_.cancel_wished) cause_ = StopCause::kCancelled;
  const catalog::Resources& wanted = job_.wishes.resources;
  const int64_t seconds_max = job_.wishes.seconds_max;
  const int64_t seconds_left =
      seconds_max == 0 ? 0 : std::max<int64_t>(1, seconds_max - static_cast<int64_t>(job_.seconds_used));
  const auto avoid =
      host_.catalog.read_as([&](catalog::Database& database) { return catalog::hosts_to_avoid(database, job_.user); });
  launcher_.prepare(key_,
                    {wanted.cores, wanted.memory_mb, wanted.gpus, seconds_left, job_.user, job_.wishes.tags, avoid});
}

// Of those that compute wrongly; of suspects all, as nobody can tell which it is.
void RunningAttempt::mark_hosts(catalog::Database& database, const job::AuditLine& line) const {
  const bool for_all = settings_.is_admin && settings_.is_admin(database, job_.user);
  const auto mark = [&](const job::ViewMember& member, const char* suspect) {
    try {
      catalog::mark_host(database, {.host = member.host,
                                    .user = for_all ? "" : job_.user,
                                    .worker = fmt::format("rank {}, process {}", member.rank, member.pid),
                                    .core = "",
                                    .what = suspect + line.what,
                                    .run = job_.run,
                                    .marked_ms = settings_.clock()});
      catalog::audit(database, {0, job_.user, "host.mark", fmt::format("{} by run {}", member.host, job_.run), ""});
      log::warn(fmt::format("[queue] {}: host {} computes wrongly, and is marked", job_.run, member.host));
    } catch (const Refusal& refusal) {
      log::warn(fmt::format("[queue] {}: {}", job_.run, refusal.what()));
    }
  };
  for (const job::ViewMember& member : line.wrong) mark(member, "");
  for (const job::ViewMember& member : line.suspects) mark(member, "one of several suspects: ");
}

// As the constructor makes it.
std::optional<std::pair<std::string, int64_t>> attempt_of(const std::string& label) {
  const size_t dash = label.rfind('-');
  int64_t number = 0;
  if (dash == std::string::npos ||
      std::from_chars(label.data() + dash + 1, label.data() + label.size(), number).ec != std::errc{})
    return std::nullopt;
  return std::pair(label.substr(0, dash), number);
}

void RunningAttempt::release() {
  launcher_.release(key_);
}

// Each folder is opened below the one before: what a run, or who uploads, has put there leads nowhere else.
void RunningAttempt::prepare_folders(const std::string& account) const {
  const auto data = std::filesystem::absolute(host_.data);
  const auto below = [&](const std::filesystem::path& folder) { return folder.lexically_relative(data); };
  folder_below(data, below(places_.root).string());
  const Descriptor outputs = folder_below(data, below(places_.outputs).string());
  write_file_atomically(places_.job, job_.job);
  if (account.empty() || account == launch::own_account()) return;
  const passwd* entry = getpwnam(account.c_str());
  if (entry == nullptr || fchown(outputs.get(), entry->pw_uid, entry->pw_gid) != 0)
    throw environment_error(fmt::format("[queue] {}: cannot be given to '{}'", places_.outputs.string(), account));
  const Descriptor job = open_below(data, below(places_.job).string());
  if (fchmod(job.get(), 0644) != 0) throw environment_error("[queue] the job cannot be shown to '" + account + "'");
  // The account has to come through to its folder; it need not see what else is there.
  for (const auto& leaf : {below(places_.root), below(places_.outputs).parent_path()}) {
    std::filesystem::path folder;
    let_pass(folder_below(data, ""));
    for (const auto& part : leaf) let_pass(folder_below(data, (folder /= part).string()));
  }
}

std::string why_not_trusted(catalog::Database& database, const std::string& user, const std::string& account,
                            const AttemptSettings& settings) {
  const bool as_the_service = account == launch::own_account();
  if (settings.sandboxes.isolation != Isolation::kNone || !as_the_service) return "";
  if (settings.is_admin && settings.is_admin(database, user)) return "";
  return fmt::format(
      "jobs of '{}' cannot run here: they would run as the service itself, and there is no sandbox ({}); an admin "
      "installs bubblewrap, or starts the service with --trust-jobs",
      user, settings.sandboxes.why_none);
}

// With those that are gone by now, of which nothing is to be found, left out.
GivenSecrets RunningAttempt::find_secrets() {
  GivenSecrets given;
  if (secret_names_.empty() || !settings_.secrets) return given;
  host_.catalog.read(
      [&](catalog::Database& database) { given = settings_.secrets(database, job_.user, secret_names_); });
  std::vector<std::pair<std::string, std::string>> values;
  for (const launch::Secret& secret : given.secrets) values.emplace_back(secret.name, secret.value);
  redactor_.emplace(values);
  return given;
}

// Of an attempt that a former service began: the values are the user's of now.
void RunningAttempt::know_secrets() {
  if (!redactor_) find_secrets();
  if (!redactor_) redactor_.emplace();
}

// Hands it to the launcher; why that cannot be, if it cannot.
std::optional<AttemptVerdict> RunningAttempt::begin() {
  const auto failed = [](std::string why) { return AttemptVerdict{catalog::Outcome::kFailed, std::move(why)}; };
  const bool here = launcher_.on_this_host();
  // It was let in long ago, perhaps.
  const std::string not_his = host_.catalog.read_as([&](catalog::Database& database) {
    std::string why = catalog::why_no_job(catalog::person(database, job_.user), catalog::Action::kBegin);
    if (why.empty() && settings_.why_not_there) why = settings_.why_not_there(database, job_.user, job_.wishes.place);
    return why;
  });
  if (!not_his.empty()) return AttemptVerdict{catalog::Outcome::kCancelled, not_his};
  std::string account, untrusted;
  if (here)
    host_.catalog.read([&](catalog::Database& database) {
      account = settings_.account(database, job_.user);
      untrusted = why_not_trusted(database, job_.user, account, settings_);
    });
  if (const std::string why = launcher_.why_not_as(account); !why.empty())
    return failed(fmt::format("jobs of '{}' cannot run here: {}; an admin declares the account", job_.user, why));
  if (!untrusted.empty()) return failed(untrusted);
  GivenSecrets given = find_secrets();
  if (!given.problem.empty()) return AttemptVerdict{catalog::Outcome::kRefused, given.problem};
  if (!secret_names_.empty())
    host_.catalog.write([&](catalog::Database& database) {
      catalog::secrets_used(database, job_.user, secret_names_, settings_.clock());
    });
  try {
    prepare_folders(account);
    launch::Command command;
    command.secrets = std::move(given.secrets);
    command.environment = {{"LINAC_RUN", job_.run}};
    command.job = job_.job;
    if (here) {
      command.argv = settings_.command(places_.job.string(), places_.outputs.string());
      command.directory = places_.outputs.string();
      command.log = places_.log.string();
      command.account = account;
    }
    if (here && settings_.sandboxes.isolation == Isolation::kSandbox && account == launch::own_account()) {
      command.view = view_of(host_, settings_.sandboxes, places_, job_);
      command.environment.emplace_back("LINAC_CACHE", cache_of(host_, job_.user));
      command.environment.emplace_back("TMPDIR", "/tmp");
    }
    command.stop_grace_s = settings_.stop_grace_s;
    launcher_.start(key_, command);
  } catch (const Error& error) {
    return failed(error.what());
  }
  return std::nullopt;
}

double RunningAttempt::seconds() const {
  if (status_.started_ms == 0) return 0;
  return std::max(0.0, 1e-3 * static_cast<double>(settings_.clock() - status_.started_ms));
}

double RunningAttempt::cost(double seconds) const {
  return settings_.prices.of(job_.wishes.resources, job_.seconds_used + seconds);
}

void RunningAttempt::tell_waiting() {
  std::string words = status_.reason;
  if (status_.state == launch::AttemptState::kQueued) words = words.empty() ? "queued" : "queued: " + words;
  if (told_running_ || words.empty() || words == told_waiting_) return;
  host_.catalog.write([&](catalog::Database& database) { catalog::attempt_waits(database, job_.run, number_, words); });
  told_waiting_ = words;
  publish_state(host_.news, job_.run, catalog::RunState::kStarting, words);
}

void RunningAttempt::tell_running() {
  if (told_running_) return;
  std::string words = fmt::format("attempt {}", number_);
  for (size_t i = 0; i < status_.hosts.size(); ++i) words += (i == 0 ? " on " : ", ") + status_.hosts[i];
  if (!status_.chosen.empty()) words += ": " + status_.chosen;
  host_.catalog.write(
      [&](catalog::Database& database) { catalog::attempt_running(database, job_.run, number_, words); });
  told_running_ = true;
  publish_state(host_.news, job_.run, catalog::RunState::kRunning, words);
}

void RunningAttempt::copy_output(int pieces_max) {
  for (int i = 0; i < pieces_max; ++i) {
    const auto piece = launcher_.output(key_, log_copy_.copied(), kLogPieceMax);
    if (!piece || piece->empty()) return;
    log_copy_.append(*piece);
  }
}

void RunningAttempt::tell_log(int pieces_max) {
  if (log_told_ < 0) log_told_ = size_of(places_.log);
  copy_output(pieces_max);
  const int64_t size = size_of(places_.log);
  if (size <= log_told_) return;
  const Descriptor file(::open(places_.log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file) return;
  const int64_t from = std::max(log_told_, size - kLogPieceMax);
  publish_log(host_.news, job_.run, from, piece_of(file, from, size - from));
  log_told_ = size;
}

void RunningAttempt::follow() {
  tell_log(kLogPiecesMax);
  if (refusals_ >= kRefusalsMax) return;
  try {
    follower_.poll(*redactor_);
    const auto now = steady_clock::now();
    if (!sampler_.due(now)) return;
    const int64_t step = static_cast<int64_t>(job_.seconds_used + seconds()), time_ms = settings_.clock();
    auto points = sampler_.sample(launcher_.use(key_), now, step, time_ms);
    if (points.empty()) return;
    if (settings_.prices.known()) points.push_back({"system/cost", {step, time_ms, cost(seconds())}});
    host_.catalog.write([&](catalog::Database& database) { catalog::append_points(database, job_.run, points); });
    host_.news.publish_points(job_.run, points);
    refusals_ = 0;
  } catch (const Refusal& refusal) {
    if (++refusals_ == kRefusalsMax)
      log::warn(fmt::format("[queue] {}: what it tells is no longer written down: {}", job_.run, refusal.what()));
  }
}

void RunningAttempt::stop_if_due(catalog::Action action) {
  if (cause_ == StopCause::kNone) {
    const double used = job_.seconds_used + seconds();
    if (job_.wishes.seconds_max > 0 && used >= static_cast<double>(job_.wishes.seconds_max))
      cause_ = StopCause::kTimeUsedUp;
    else if (job_.wishes.cost_max > 0 && cost(seconds()) >= job_.wishes.cost_max)
      cause_ = StopCause::kCostUsedUp;
    else if (steady_clock::now() - wishes_read_ > kWishesEvery) {
      host_.catalog.read([&](catalog::Database& database) {
        stopped_ = catalog::why_no_job(catalog::person(database, job_.user), action);
        if (!stopped_.empty() || catalog::queued_job(database, job_.run).cancel_wished) cause_ = StopCause::kCancelled;
      });
      wishes_read_ = steady_clock::now();
    }
  }
  if (cause_ != StopCause::kNone) launcher_.cancel(key_);
}

bool RunningAttempt::began() const {
  return host_.catalog.read_as(
      [&](catalog::Database& database) { return !cursor_of(database, job_.run).steps.empty(); });
}

std::string RunningAttempt::told_reason() const {
  try {
    const Descriptor file = open_below(places_.outputs, job::kSummaryFile);
    struct stat about {};
    // One of an earlier attempt tells of another failure.
    constexpr int64_t kClocksDiffer_ms = 1000;
    const bool of_this = status_.started_ms != 0 && ::fstat(file.get(), &about) == 0 &&
                         about.st_mtim.tv_sec * 1000 + kClocksDiffer_ms >= status_.started_ms;
    const RunFacts facts = facts_of(redactor_->redacted(piece_of(file, 0, kFactFileBytesMax)));
    if (of_this && facts.status == job::to_string(job::RunStatus::kFailed) && !facts.error.empty()) return facts.error;
  } catch (const Error&) {  // it ended before there was one
  }
  const Descriptor log(::open(places_.log.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!log) return "";
  const int64_t size = size_of(places_.log), from = std::max<int64_t>(0, size - kLogTailBytes);
  return reason_in_log(piece_of(log, from, size - from));
}

AttemptEnd RunningAttempt::ended() {
  tell_log(kLogPiecesAtEndMax);
  try {
    follower_.finish(*redactor_);
  } catch (const Refusal& refusal) {
    log::warn(fmt::format("[queue] {}: its last words are lost: {}", job_.run, refusal.what()));
  }
  AttemptEnd end{judge(status_, cause_, began(), redactor_->redacted(told_reason())),
                 status_.exit ? status_.exit->seconds : seconds()};
  if (end.verdict.outcome == catalog::Outcome::kCancelled && !stopped_.empty()) end.verdict.reason = stopped_;
  // The clock by which it was stopped began a moment before the process's own.
  if (cause_ == StopCause::kTimeUsedUp)
    end.seconds = std::max(end.seconds, static_cast<double>(job_.wishes.seconds_max) - job_.seconds_used);
  if (settings_.prices.known()) {
    const std::string cost_text = money(cost(end.seconds), settings_.prices.currency);
    host_.catalog.write([&](catalog::Database& database) {
      catalog::set_run_tags(database, job_.run, {{"linac.cost", cost_text}});
    });
  }
  return end;
}

// A new service takes up what the one before had written down, and perhaps no more than that; start() does nothing
// twice.
std::optional<AttemptEnd> RunningAttempt::not_started() {
  if (begun_) {
    tell_waiting();
    stop_if_due(catalog::Action::kBegin);
    return std::nullopt;
  }
  const bool cancelled = cause_ == StopCause::kCancelled;
  std::optional<AttemptVerdict> refused =
      cancelled ? AttemptVerdict{catalog::Outcome::kCancelled, "cancelled"} : begin();
  begun_ = !cancelled;
  if (!refused) return std::nullopt;
  launcher_.cancel(key_);  // it may have been handed over for all that, or a former service left it its secrets
  return AttemptEnd{std::move(*refused), 0};
}

std::optional<AttemptEnd> RunningAttempt::poll() {
  status_ = launcher_.status(key_);
  if (status_.state != launch::AttemptState::kPrepared) know_secrets();
  switch (status_.state) {
    case launch::AttemptState::kPrepared:
      return not_started();
    case launch::AttemptState::kQueued:
      tell_waiting();
      stop_if_due(catalog::Action::kBegin);
      return std::nullopt;
    case launch::AttemptState::kRunning:
      tell_running();
      follow();
      stop_if_due(catalog::Action::kGoOn);
      return std::nullopt;
    case launch::AttemptState::kEnded:
    case launch::AttemptState::kLost:
      if (status_.started_ms != 0) tell_running();
      return ended();
  }
  return std::nullopt;
}

}  // namespace linac::execution
