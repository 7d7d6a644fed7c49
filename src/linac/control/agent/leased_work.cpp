#include "linac/control/agent/leased_work.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/log.h"
#include "linac/base/base/private_file.h"
#include "linac/base/base/safe_path.h"
#include "linac/control/agent/folder_sync.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/launch/process_facts.h"

namespace linac::agent {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr const char* kLeaseFile = "lease.json";
constexpr size_t kLeaseFileBytesMax = 1 << 16;
constexpr milliseconds kSendEvery{2000}, kTick{100}, kFirstWait{500}, kWaitMax{20'000}, kUseEvery{2000};

launch::Exit lost() {
  launch::Exit exit;
  exit.signal = SIGKILL;
  return exit;
}

/// Another agent begins it.
launch::Exit not_begun() {
  launch::Exit exit;
  exit.status = static_cast<int>(ErrorCode::kPreempted);
  exit.stopped = true;
  return exit;
}

void make_private_folder(const fs::path& folder) {
  make_folder(folder);
  fs::permissions(folder, fs::perms::owner_all);
}

}  // namespace

LeasedWork::LeasedWork(const WorkSettings& settings, launch::HandedWork work, fs::path folder)
    : LeasedWork(settings, std::move(work), std::move(folder), Stage::kHanded) {}

LeasedWork::LeasedWork(const WorkSettings& settings, launch::HandedWork work, fs::path folder, Stage stage)
    : settings_(settings),
      folder_(std::move(folder)),
      lease_{work.label, work.secret},
      work_(std::move(work)),
      stage_(stage),
      adopted_(stage != Stage::kHanded),
      thread_([this] { speak(); }) {}

std::unique_ptr<LeasedWork> LeasedWork::adopted(const WorkSettings& settings, const fs::path& folder) {
  try {
    const json kept = json::parse(read_private_file(folder / kLeaseFile, kLeaseFileBytesMax).value_or(""));
    launch::HandedWork work;
    work.label = kept.at("attempt");
    work.secret = kept.at("lease");
    work.demand.cores = kept.at("cores");
    work.demand.memory_mb = kept.at("memory_mb");
    work.demand.gpus = kept.at("gpus");
    if (!launch::is_label(work.label)) return nullptr;
    return std::unique_ptr<LeasedWork>(new LeasedWork(settings, std::move(work), folder, Stage::kRunning));
  } catch (const std::exception&) {  // it was killed before it had begun anything
    return nullptr;
  }
}

LeasedWork::~LeasedWork() {
  thread_.join();
}

// --- the processes

launch::Command LeasedWork::command() const {
  launch::Command command = work_.command;
  const std::string job = folder_ / "job.yaml", run = folder_ / "run";
  command.argv = {settings_.program.string(), "train", job, "--out", run, "--resume-or-start"};
  command.directory = run;
  command.log = folder_ / "log.txt";
  if (work_.own || !settings_.sandbox_others) return command;
  const fs::path cache = settings_.folder / "caches" / ("user-" + in_hex(work_.demand.user));
  make_private_folder(cache);
  command.view.emplace();
  command.view->hidden = settings_.hidden;
  command.view->hidden.push_back(settings_.folder);
  command.view->programs = settings_.needed;
  command.view->readable = {job};
  command.view->writable = {run, cache.string()};
  command.environment.emplace_back("LINAC_CACHE", cache);
  command.environment.emplace_back("TMPDIR", "/tmp");
  return command;
}

void LeasedWork::start(launch::Launcher& launcher) {
  try {
    launcher.start(key(), command());
    work_.command.secrets.clear();
    stage_ = Stage::kRunning;
  } catch (const Error& error) {
    launch::Exit exit;
    exit.problem = error.what();
    ended(exit);
  }
}

void LeasedWork::ended(const launch::Exit& exit) {
  {
    const std::lock_guard lock(mutex_);
    exit_ = exit;
  }
  stage_ = Stage::kEnded;
}

void LeasedWork::kill_processes() const {
  for (const launch::ProcessKey& process : launch::processes_with(launch::kAttemptVariable, key().folder.string()))
    launch::send_signal(process, SIGKILL);
}

void LeasedWork::look_at_processes(launch::Launcher& launcher) {
  const launch::AttemptStatus status = launcher.status(key());
  switch (status.state) {
    case launch::AttemptState::kEnded: {
      launch::Exit exit = status.exit.value_or(launch::Exit());
      if (!status.exit) exit.problem = status.reason;
      return ended(exit);
    }
    case launch::AttemptState::kLost:
      return ended(lost());
    case launch::AttemptState::kPrepared:
      if (adopted_) ended(lost());  // killed before it had started it: its secrets are nowhere any more
      return;
    default:
      break;
  }
  if (over_)
    kill_processes();
  else if (stop_)
    launcher.cancel(key());
  else if (steady_clock::now() - used_ > kUseEvery) {
    used_ = steady_clock::now();
    const launch::AttemptUse use = launcher.use(key());
    const std::lock_guard lock(mutex_);
    use_ = use;
  }
}

void LeasedWork::look(launch::Launcher& launcher) {
  if (!std::exchange(prepared_, true)) launcher.prepare(key(), work_.demand);
  if (stage_ == Stage::kReady) {
    if (over_)
      ended(lost());
    else if (stop_)
      ended(not_begun());
    else
      start(launcher);
  }
  if (stage_ == Stage::kRunning) look_at_processes(launcher);
}

// --- the lease

void LeasedWork::beat(PilotClient& client) {
  const Stage stage = stage_;
  if (stage == Stage::kHanded || stage == Stage::kDone || over_ || leaving_) return;
  launch::AttemptUse use;
  {
    const std::lock_guard lock(mutex_);
    use = use_;
  }
  try {
    if (client.renew(lease_, use)) stop_ = true;
  } catch (const TokenRefused&) {
    token_refused_ = over_ = true;
  } catch (const LeaseOver&) {
    // Its end may have been told meanwhile.
    if (stage_ != Stage::kDone) over_ = true;
  } catch (const Error&) {  // the service is away: the job goes on, and its files will say it
  }
}

// --- the thread that speaks of files

template <class Call>
void LeasedWork::until_it_goes_well(Call&& call) {
  for (milliseconds pause = kFirstWait;; pause = std::min(2 * pause, kWaitMax)) {
    try {
      return call();
    } catch (const Error& error) {
      const bool hopeless =
          dynamic_cast<const LeaseOver*>(&error) != nullptr || dynamic_cast<const TokenRefused*>(&error) != nullptr;
      if (hopeless) throw;
      if (over_ || leaving_) throw LeaseOver(ErrorCode::kUser, error.what());
      if (pause == kFirstWait) log::warn(fmt::format("[agent] {}: {}; tried again", label(), error.what()));
      for (milliseconds waited{0}; waited < pause && !over_ && !leaving_; waited += kTick)
        std::this_thread::sleep_for(kTick);
    }
  }
}

void LeasedWork::wait_in(Stage stage, milliseconds time) const {
  for (milliseconds waited{0}; waited < time && stage_ == stage && !over_ && !leaving_; waited += kTick)
    std::this_thread::sleep_for(kTick);
}

void LeasedWork::write_down() const {
  make_private_folder(folder_);
  write_file_atomically(folder_ / "job.yaml", work_.command.job);
  write_private_file(folder_ / kLeaseFile, json{{"attempt", lease_.label},
                                                {"lease", lease_.secret},
                                                {"cores", work_.demand.cores},
                                                {"memory_mb", work_.demand.memory_mb},
                                                {"gpus", work_.demand.gpus}}
                                               .dump());
}

void LeasedWork::carry_through(PilotClient& client) {
  FolderSync sync(client, lease_, folder_ / "run", folder_ / "log.txt");
  if (stage_ == Stage::kHanded) {
    write_down();
    until_it_goes_well([&] { client.begin(lease_); });
    stage_ = Stage::kFetching;
    log::info(fmt::format("[agent] {}: begun", label()));
    until_it_goes_well([&] { sync.fetch(); });
    stage_ = Stage::kReady;
  }
  while (stage_ != Stage::kEnded) {
    if (over_ || leaving_) throw LeaseOver(ErrorCode::kUser, "its lease is over");
    if (stage_ == Stage::kRunning) until_it_goes_well([&] { sync.send(); });
    wait_in(stage_, stage_ == Stage::kRunning ? kSendEvery : kTick);
  }
  until_it_goes_well([&] { sync.send_last(); });
  until_it_goes_well([&] {
    const std::lock_guard lock(mutex_);
    client.end(lease_, exit_);
  });
  log::info(fmt::format("[agent] {}: handed in", label()));
}

void remove_work(const fs::path& folder) {
  try {
    remove_tree(folder);
  } catch (const Error& error) {
    log::warn(fmt::format("[agent] {}: stays ({})", folder.string(), error.what()));
  }
}

void LeasedWork::speak() {
  PilotClient client(settings_.login, [this] { return !over_ && !leaving_; });
  try {
    carry_through(client);
  } catch (const TokenRefused& refused) {
    log::error(fmt::format("[agent] {}: {}", label(), refused.what()));
    token_refused_ = over_ = true;
  } catch (const LeaseOver& over) {
    if (!leaving_) {
      over_ = true;
      log::warn(fmt::format("[agent] {}: nobody waits for it any more ({})", label(), over.what()));
    }
  } catch (const std::exception& error) {  // its own disk, say: the lease runs out
    log::error(fmt::format("[agent] {}: {}", label(), error.what()));
    failed_here_ = over_ = true;
  }
  // Its processes write there.
  while ((stage_ == Stage::kReady || stage_ == Stage::kRunning) && !leaving_) std::this_thread::sleep_for(kTick);
  if (!leaving_) remove_work(folder_);
  stage_ = Stage::kDone;
}

}  // namespace linac::agent
