#include "linac/control/agent/agent.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/base/base/log.h"
#include "linac/base/base/private_file.h"
#include "linac/base/base/secure_random.h"
#include "linac/base/base/sole_lock.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/agent/leased_work.h"
#include "linac/control/launch/local_launcher.h"
#include "linac/control/launch/sandbox.h"

namespace linac::agent {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kLookEvery{100}, kBeatMin{500}, kBeatMax{20'000}, kFirstLease{60'000};
constexpr int kBeatsOfALease = 6;
constexpr seconds kAskWait{20}, kAwayPauseMax{20};
constexpr seconds kPatience{600};    // for handing in while it drains
constexpr seconds kUnwellPause{60};  // until it asks again after a failure of its own: others get the job meanwhile
constexpr size_t kIdBytesMax = 64;
constexpr const char *kIdFile = "agent-id", *kLockFile = "lock", *kWorkFolder = "work";

std::atomic<int> stops = 0;

void catch_stops() {
  struct sigaction action = {};
  action.sa_handler = [](int) { ++stops; };
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) ::sigaction(signal, &action, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
}

/// The agent's own folder: its id, its lock, its work.
class Home {
 public:
  explicit Home(const fs::path& wanted) {
    if (wanted.empty()) temporary_.emplace();
    make_folder(wanted.empty() ? temporary_->path() : wanted);
    root_ = fs::canonical(wanted.empty() ? temporary_->path() : wanted);
    fs::permissions(root_, fs::perms::owner_all);
    lock_ = Descriptor(::open((root_ / kLockFile).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!lock_) throw environment_error(fmt::format("[agent] {}: cannot be written; give --folder", root_.string()));
    if (!lock_alone(lock_.get()))
      throw user_error(
          fmt::format("[agent] {}: another agent works there; give it a --folder of its own", root_.string()));
    make_folder(work());
    const fs::path file = root_ / kIdFile;
    const auto kept = read_private_file(file, kIdBytesMax);
    id_ = kept.value_or(random_hex(32));
    if (!kept) write_private_file(file, id_);
    if (!launch::is_agent_id(id_))
      throw user_error(fmt::format("[agent] {}: holds no id of an agent; remove that file", file.string()));
  }

  const fs::path& root() const { return root_; }
  fs::path work() const { return root_ / kWorkFolder; }
  const std::string& id() const { return id_; }

 private:
  std::optional<TemporaryFolder> temporary_;
  fs::path root_;
  Descriptor lock_;
  std::string id_;
};

class Agent {
 public:
  explicit Agent(const AgentOptions& options)
      : options_(options),
        home_(options.folder),
        why_no_sandbox_(options.trust_jobs ? "" : launch::why_no_sandbox()),
        launcher_({options.program.string(), "supervise", "--with-parent", std::to_string(::getpid())}, slots(options),
                  groups_),
        begin_(Clock::now()),
        busy_until_(begin_) {
    settings_ = {options.login, !options.trust_jobs, home_.root(), {}, options.program, {}};
    if (!options.token_file.empty()) settings_.hidden = {fs::canonical(options.token_file).string()};
    if (settings_.sandbox_others && why_no_sandbox_.empty())
      settings_.needed = launch::needed_by(options.program.parent_path() / "linac-compute");
    adopt();
    log::info(fmt::format("[agent] {} asks {} for work, in {}", name(), options.login.server, home_.root().string()));
    log::info("[agent] " + groups_.said());
    if (!why_no_sandbox_.empty())
      log::info(
          fmt::format("[agent] no sandbox here ({}): only jobs of the token's own user are taken", why_no_sandbox_));
  }

  int run() {
    asks_ = std::thread([this] { ask_for_work(); });
    beats_ = std::thread([this] { beat(); });
    while (!ends()) {
      take_over();
      look();
      std::this_thread::sleep_for(kLookEvery);
    }
    leaving_ = true;
    asks_.join();
    take_over();  // it may have been given something at the last moment: it has not begun it
    for (auto& [label, work] : works_) work->leave();
    beats_.join();
    works_.clear();
    if (refused_) return static_cast<int>(ErrorCode::kUser);
    return 0;
  }

 private:
  static launch::Slots slots(const AgentOptions& options) {
    return options.slots.empty() ? launch::Slots::of_host() : launch::Slots::of_text(options.slots);
  }
  std::string name() const { return options_.name.empty() ? host_name() : options_.name; }
  bool only_own() const { return options_.only_own || !why_no_sandbox_.empty(); }

  void adopt() {
    for (const auto& entry : fs::directory_iterator(home_.work())) {
      auto work = LeasedWork::adopted(settings_, entry.path());
      if (!work) {
        remove_work(entry.path());
        continue;
      }
      log::info(fmt::format("[agent] {}: was begun here before", work->label()));
      const std::lock_guard lock(mutex_);
      works_.emplace(work->label(), std::move(work));
    }
  }

  // --- this thread

  /// Draining begins by a signal, by the end of its time, by idleness; it has ended when nothing is left.
  bool ends() {
    if (stops >= 2) return true;
    const auto now = Clock::now();
    const bool time_over = options_.time_left.count() > 0 && now - begin_ > options_.time_left - options_.grace;
    const bool idle =
        options_.idle_exit.count() > 0 && works_.empty() && got_none_ && now - busy_until_ > options_.idle_exit;
    const bool enough = options_.once && taken_ > 0;
    const bool stop = stops > 0 || time_over || refused_;
    if (!draining_ && (stop || idle || enough)) {
      draining_ = true;
      log::info(fmt::format("[agent] takes no more work ({})", stops > 0   ? "asked to stop"
                                                               : time_over ? "its time is nearly over"
                                                               : refused_  ? "its token is refused"
                                                               : enough    ? "it has its job"
                                                                           : "there was none for long"));
    }
    if (stop && !stopping_) {
      stopping_ = true;
      stopped_at_ = now;
    }
    if (stopping_)
      for (auto& [label, work] : works_) work->drain();
    if (stopping_ && now - stopped_at_ > options_.grace + kPatience) {
      log::warn("[agent] not all could be handed in; an agent in the same folder goes on with it");
      return true;
    }
    return draining_ && works_.empty() && !asking_;
  }

  /// What the asking thread was given becomes work, unless it is too late for that.
  void take_over() {
    std::optional<launch::HandedWork> work;
    {
      const std::lock_guard lock(mutex_);
      work = std::exchange(given_, std::nullopt);
    }
    if (!work || draining_ || leaving_ || Clock::now() < unwell_until_ || works_.contains(work->label)) return;
    if (!work->own && only_own()) return;
    ++taken_;
    const std::string label = work->label;
    const fs::path folder = home_.work() / label;
    auto made = std::make_unique<LeasedWork>(settings_, std::move(*work), folder);
    made->look(launcher_);
    const std::lock_guard lock(mutex_);
    works_.emplace(label, std::move(made));
  }

  void look() {
    for (auto work = works_.begin(); work != works_.end();) {
      LeasedWork& one = *work->second;
      try {
        one.look(launcher_);
      } catch (const Error& error) {
        log::error(fmt::format("[agent] {}: {}", one.label(), error.what()));
      }
      if (one.token_refused()) refused_ = true;
      if (!one.done()) {
        ++work;
        continue;
      }
      if (one.failed_here()) {
        log::warn(fmt::format("[agent] takes no more work for {} s", kUnwellPause.count()));
        const std::lock_guard lock(mutex_);
        unwell_until_ = Clock::now() + kUnwellPause;
      }
      launcher_.release({one.label(), home_.work() / one.label() / "attempt"});
      busy_until_ = Clock::now();
      got_none_ = false;
      const std::lock_guard lock(mutex_);
      work = works_.erase(work);
    }
    const std::lock_guard lock(mutex_);
    room_ = launcher_.capacity();
  }

  // --- the thread that asks

  launch::PilotAgent words() {
    launch::PilotAgent agent;
    agent.id = home_.id();
    agent.name = name();
    agent.host = host_name();
    agent.tags = options_.tags;
    agent.price = options_.price;
    const std::lock_guard lock(mutex_);
    agent.all = room_.all;
    agent.free = room_.free;
    if (options_.time_left.count() > 0) {
      const auto left = options_.time_left - options_.grace - (Clock::now() - begin_);
      agent.free.seconds_max = std::max<int64_t>(1, std::chrono::duration_cast<seconds>(left).count());
    }
    return agent;
  }

  bool has_room() {
    const std::lock_guard lock(mutex_);
    return room_.free.cores > 0 && !given_ && Clock::now() >= unwell_until_ && !(options_.once && taken_ > 0);
  }

  void ask_for_work() {
    PilotClient client(options_.login, [this] { return !draining_ && !leaving_; });
    for (seconds pause{0}; !draining_ && !leaving_;) {
      if (!has_room()) {
        std::this_thread::sleep_for(kLookEvery);
        continue;
      }
      pause = ask(client) ? seconds(0) : std::clamp(2 * pause, seconds(1), kAwayPauseMax);
      for (milliseconds waited{0}; waited < pause && !draining_ && !leaving_; waited += kLookEvery)
        std::this_thread::sleep_for(kLookEvery);
    }
    say_farewell();
    asking_ = false;
  }

  bool ask(PilotClient& client) {
    try {
      const seconds wait = options_.idle_exit.count() > 0 ? std::min(kAskWait, options_.idle_exit) : kAskWait;
      PilotClient::Work answer = client.ask(words(), only_own(), wait);
      const std::lock_guard lock(mutex_);
      lease_ = answer.lease;
      given_ = std::move(answer.work);
      got_none_ = !given_;
      away_ = false;
      return true;
    } catch (const TokenRefused& refused) {
      log::error(refused.what());
      refused_ = true;
    } catch (const Error& error) {
      got_none_ = true;
      if (!draining_ && !std::exchange(away_, true)) log::warn(fmt::format("{}; it is asked again", error.what()));
    }
    return false;
  }

  /// Whether the service is being asked to begin what it handed out.
  bool begins_work() {
    const std::lock_guard lock(mutex_);
    return std::any_of(works_.begin(), works_.end(), [](const auto& work) { return work.second->begins(); });
  }

  /// What it was handed and does not begin is for others.
  void say_farewell() {
    while (begins_work() && !leaving_) std::this_thread::sleep_for(kLookEvery);
    try {
      PilotClient client(options_.login, [this] { return !leaving_; });
      launch::PilotAgent agent = words();
      agent.draining = true;
      if (!refused_) client.ask(agent, only_own(), seconds(0));
    } catch (const Error&) {  // the service finds out
    }
  }

  // --- the thread that keeps leases

  void beat() {
    PilotClient client(options_.login, [this] { return !leaving_; });
    while (!leaving_) {
      std::vector<std::shared_ptr<LeasedWork>> works;
      milliseconds lease{0};
      {
        const std::lock_guard lock(mutex_);
        lease = lease_;
        for (const auto& [label, work] : works_) works.push_back(work);
      }
      for (const auto& work : works) work->beat(client);
      works.clear();
      const milliseconds pause = std::clamp(lease / kBeatsOfALease, kBeatMin, kBeatMax);
      for (milliseconds waited{0}; waited < pause && !leaving_; waited += kLookEvery)
        std::this_thread::sleep_for(kLookEvery);
    }
  }

  const AgentOptions options_;
  const Home home_;
  const std::string why_no_sandbox_;
  WorkSettings settings_;
  const launch::ControlGroups groups_ = launch::ControlGroups::of_host();
  launch::LocalLauncher launcher_;  // of the thread that runs
  const Clock::time_point begin_;
  Clock::time_point busy_until_, stopped_at_{};
  bool stopping_ = false;
  std::atomic<int> taken_ = 0;
  std::atomic<bool> got_none_ = false;  // since it was busy: who is answered late, or not yet, is not idle
  std::atomic<bool> draining_ = false, leaving_ = false, refused_ = false, asking_ = true;
  bool away_ = false;  // of the thread that asks

  std::mutex mutex_;  // of these, for others than the thread that changes them
  std::map<std::string, std::shared_ptr<LeasedWork>> works_;
  std::optional<launch::HandedWork> given_;
  launch::Capacity room_;
  Clock::time_point unwell_until_{};
  milliseconds lease_ = kFirstLease;
  std::thread asks_, beats_;
};

}  // namespace

int run_agent(const AgentOptions& options) {
  catch_stops();
  ::umask(077);
  Agent agent(options);
  return agent.run();
}

}  // namespace linac::agent
