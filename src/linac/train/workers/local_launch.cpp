#include "linac/train/workers/local_launch.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <memory>
#include <optional>
#include <thread>

#include "linac/base/base/answer_within.h"
#include "linac/base/base/error.h"
#include "linac/train/comm/meeting/founding.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/meeting/run_key.h"
#include "linac/train/comm/membership/view_ledger.h"
#include "linac/train/workers/line_relay.h"
#include "linac/train/workers/run_end.h"
#include "linac/train/workers/worker_error.h"
#include "linac/train/workers/worker_process.h"

namespace linac::launch {
namespace {

using Clock = std::chrono::steady_clock;

// A process killed while the kernel holds it (a dead network disk) may not go away; we do not wait for it for ever.
constexpr auto kKillWait = std::chrono::seconds(10);
// timeout(1) and some batch systems send one request twice, to the process and to its group: that is no second Ctrl-C.
constexpr auto kSecondInterruptGap = std::chrono::milliseconds(500);

// How long the disk of the run's folder may take to say who is in the run. One that does not answer tells no views.
constexpr auto kFolderWait = std::chrono::seconds(3);
constexpr auto kLookForView = std::chrono::milliseconds(10);

constexpr int kLookForFounding = 100;  // ms

// `begun`: the workers have met, so the first view is on its way to the disk.
bool has_views(const std::filesystem::path& folder, bool begun) {
  // A view that cannot be read is none.
  return answer_within(kFolderWait, false, [folder, begun, end = Clock::now() + kFolderWait] {
    while (comm::ViewLedger::join_addresses(folder).empty()) {
      if (!begun || Clock::now() >= end) return false;
      std::this_thread::sleep_for(kLookForView);
    }
    return true;
  });
}

// Where the handler writes; one inbox at a time.
volatile int inbox_descriptor = -1;

extern "C" void put_into_inbox(int signal) {
  const int error = errno;
  const auto number = static_cast<unsigned char>(signal);
  // A full pipe holds news enough.
  if (write(inbox_descriptor, &number, 1) < 0) errno = error;
}

// Takes the signals as data instead of interruptions, and gives the former state back at the end. By handlers: signalfd
// would see only what no other thread of the process takes, and libraries start threads that block nothing.
class SignalInbox {
 public:
  SignalInbox() {
    int ends[2];
    LINAC_CHECK(pipe2(ends, O_NONBLOCK | O_CLOEXEC) == 0);
    inbox_ = Descriptor(ends[0]);
    entrance_ = Descriptor(ends[1]);
    inbox_descriptor = entrance_.get();
    struct sigaction action = {};
    action.sa_handler = put_into_inbox;
    action.sa_flags = SA_RESTART;
    sigset_t watched;
    sigemptyset(&watched);
    for (size_t i = 0; i < kLauncherSignals.size(); ++i) {
      sigaction(kLauncherSignals[i], &action, &former_actions_[i]);
      sigaddset(&watched, kLauncherSignals[i]);
    }
    pthread_sigmask(SIG_UNBLOCK, &watched, &former_mask_);
  }
  ~SignalInbox() {
    pthread_sigmask(SIG_SETMASK, &former_mask_, nullptr);
    for (size_t i = 0; i < kLauncherSignals.size(); ++i) sigaction(kLauncherSignals[i], &former_actions_[i], nullptr);
    inbox_descriptor = -1;
  }
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;
  int descriptor() const { return inbox_.get(); }
  /// The next signal waiting, or 0.
  int next() {
    unsigned char signal = 0;
    return read(inbox_.get(), &signal, 1) == 1 ? signal : 0;
  }

 private:
  std::array<struct sigaction, kLauncherSignals.size()> former_actions_;
  sigset_t former_mask_;
  Descriptor inbox_, entrance_;
};

void write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const auto written = write(descriptor, text.data(), text.size());
    if (written < 0 && errno != EINTR) return;  // nobody reads any more: not a reason to end the training
    if (written > 0) text.remove_prefix(static_cast<size_t>(written));
  }
}

struct Worker {
  int rank;        // or, of a newcomer, its number here
  int local_rank;  // which GPU it takes; a newcomer has that of the worker whose place it takes
  WorkerProcess process;
  LineRelay relay;
  bool running = true;
  bool ended_by_launcher = false;
  bool newcomer = false;
};

class Supervisor {
 public:
  Supervisor(const LocalLaunch& launch, const comm::Stores& stores)
      : launch_(launch), environment_(launch.environment), store_(comm::host_store(stores, "127.0.0.1")) {
    // The workers find a key in the run's folder, where they have one.
    if (launch.views.empty() && !comm::key_of_environment())
      environment_.emplace_back(comm::kRunKeyVariable, comm::RunKey::draw().text());
  }
  ~Supervisor() {
    for (const auto& worker : workers_) worker.process.child.kill();
  }

  RunEnd run() {
    for (int rank = 0; rank < launch_.workers; ++rank) start(rank);
    while (ends_.size() < workers_.size()) {
      wait_for_something();
      if (begun()) store_.reset();
      for (auto& worker : workers_) relay_output(worker);
      while (const int signal = signals_.next()) {
        if (signal != SIGCHLD) on_stop_request(signal);
      }
      for (size_t i = 0; i < workers_.size(); ++i) reap(workers_[i]);  // may add one
      if (deadline_ && Clock::now() >= *deadline_) on_deadline();
    }
    return judge(ends_, stop_signal_);
  }

 private:
  enum class Phase { kRunning, kCompleting, kFailing, kStopping, kEnding, kKilled };

  // In place of one that is lost. It finds the others by itself.
  void start_newcomer(int local_rank) {
    ++restarts_;
    const int number = static_cast<int>(workers_.size());
    WorkerCommand command{launch_.program, launch_.join_argv, environment_, Output::kCapture};
    command.environment.emplace_back("LINAC_WORKER", std::to_string(number));
    command.environment.emplace_back("LOCAL_RANK", std::to_string(local_rank));
    command.environment.emplace_back("LOCAL_WORLD_SIZE", std::to_string(launch_.workers));
    workers_.push_back(
        {number, local_rank, start_worker_process(command), LineRelay(fmt::format("[worker {}] ", number))});
    workers_.back().newcomer = true;
  }

  // Whether the others can go on without a worker that ended so.
  bool can_go_on_without(const WorkerEnd& end) const {
    // One that was not let in: the run has just ended, well or not, as the others tell.
    if (workers_[static_cast<size_t>(end.rank)].newcomer && end.exit_code == static_cast<int>(ErrorCode::kPeerLost))
      return true;
    // kPeerLost: it was left behind and has not found back. Where the run itself cannot go on, the others end so too.
    constexpr std::array kOwnFailures{ErrorCode::kInternal, ErrorCode::kEnvironment, ErrorCode::kHang,
                                      ErrorCode::kPeerLost, ErrorCode::kWrong};
    const bool left = launch_.may_leave && end.exit_code == static_cast<int>(ErrorCode::kPreempted);
    const bool own = end.signal != 0 || left ||
                     std::any_of(kOwnFailures.begin(), kOwnFailures.end(),
                                 [&](ErrorCode code) { return end.exit_code == static_cast<int>(code); });
    const bool others = std::any_of(workers_.begin(), workers_.end(), [](const Worker& w) { return w.running; });
    return own && others && phase_ == Phase::kRunning && !launch_.views.empty() && has_views(launch_.views, begun());
  }

  bool begun() const { return !store_ || comm::founded(*store_); }

  bool complete() const {
    return std::any_of(ends_.begin(), ends_.end(), [](const WorkerEnd& end) { return end.status() == 0; });
  }

  void go_on_without(WorkerEnd& end) {
    end.forgiven = true;
    // One that computes wrongly would do so in another process of this host, too.
    constexpr std::array kNotAgain{ErrorCode::kPeerLost, ErrorCode::kPreempted, ErrorCode::kWrong};
    const bool again =
        restarts_ < launch_.restarts && !complete() && phase_ == Phase::kRunning &&
        std::ranges::none_of(kNotAgain, [&](ErrorCode code) { return end.exit_code == static_cast<int>(code); });
    write_all(STDERR_FILENO, fmt::format("linac: worker {} {}; the others go on{}\n", end.rank, describe(end),
                                         again ? ", and another one is started" : ""));
    if (again) start_newcomer(workers_[static_cast<size_t>(end.rank)].local_rank);
  }

  void start(int rank) {
    const auto size = std::to_string(launch_.workers);
    WorkerCommand command{launch_.program, launch_.argv, environment_, rank == 0 ? Output::kInherit : Output::kCapture};
    const std::pair<const char*, std::string> variables[] = {{"RANK", std::to_string(rank)},
                                                             {"LOCAL_RANK", std::to_string(rank)},
                                                             {"WORLD_SIZE", size},
                                                             {"LOCAL_WORLD_SIZE", size},
                                                             {"MASTER_ADDR", "127.0.0.1"},
                                                             {"MASTER_PORT", std::to_string(store_->port())},
                                                             {"TORCHELASTIC_USE_AGENT_STORE", "True"},
                                                             {"TORCHELASTIC_RESTART_COUNT", "0"}};
    for (const auto& [name, value] : variables) command.environment.emplace_back(name, value);
    workers_.push_back({rank, rank, start_worker_process(command), LineRelay(fmt::format("[rank {}] ", rank))});
  }

  void wait_for_something() {
    std::vector<pollfd> watched{{signals_.descriptor(), POLLIN, 0}};
    for (const auto& worker : workers_) {
      if (worker.process.output.get() >= 0) watched.push_back({worker.process.output.get(), POLLIN, 0});
    }
    int timeout_ms = -1;
    if (deadline_) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline_ - Clock::now());
      timeout_ms = static_cast<int>(std::max<int64_t>(0, left.count()));
    }
    if (store_ && (timeout_ms < 0 || timeout_ms > kLookForFounding)) timeout_ms = kLookForFounding;
    poll(watched.data(), watched.size(), timeout_ms);
  }

  // Each piece goes out in one write, so that lines of different workers do not mix.
  void relay_output(Worker& worker) {
    if (worker.process.output.get() < 0) return;
    // Bounded: a worker that prints without end must not keep us from the others and from signals.
    for (int pieces = 0; pieces < 16; ++pieces) {
      char buffer[4096];
      const auto size = read(worker.process.output.get(), buffer, sizeof buffer);
      if (size < 0 && errno == EINTR) continue;
      if (size < 0) return;
      if (size == 0) {
        write_all(STDERR_FILENO, worker.relay.finish());
        worker.process.output.reset();
        return;
      }
      write_all(STDERR_FILENO, worker.relay.feed({buffer, static_cast<size_t>(size)}));
    }
  }

  void reap(Worker& worker) {
    if (!worker.running) return;
    const auto end = worker.process.child.ended();
    if (!end) return;
    relay_output(worker);
    add_end(worker, end->exit_code, end->signal);
    const int code = ends_.back().status();
    const bool failed = code != 0 && code != static_cast<int>(ErrorCode::kPreempted);
    if (code != 0 && can_go_on_without(ends_.back())) return go_on_without(ends_.back());
    // Left behind by a run that is complete.
    ends_.back().forgiven = code == static_cast<int>(ErrorCode::kPeerLost) && complete();
    if (ends_.back().forgiven) return;
    if (failed && (phase_ == Phase::kRunning || phase_ == Phase::kCompleting))
      enter(Phase::kFailing, launch_.failure_grace);
    if (!failed && phase_ == Phase::kRunning) enter(Phase::kCompleting, launch_.complete_grace);
  }

  void add_end(Worker& worker, int exit_code, int signal) {
    worker.running = false;
    write_all(STDERR_FILENO, worker.relay.finish());
    worker.process.output.reset();
    const auto& kept = worker.relay.kept();
    ends_.push_back({.rank = worker.rank,
                     .exit_code = exit_code,
                     .signal = signal,
                     .ended_by_launcher = worker.ended_by_launcher,
                     .error = received_worker_error(worker.process.error.get()),
                     .tail = {kept.begin(), kept.end()}});
  }

  void on_stop_request(int signal) {
    const bool again = phase_ == Phase::kStopping && Clock::now() - stop_time_ >= kSecondInterruptGap;
    if (signal == SIGINT && (again || phase_ == Phase::kEnding)) return kill_all();
    if (phase_ == Phase::kRunning) {
      stop_signal_ = signal;
      stop_time_ = Clock::now();
      // SIGTERM even for Ctrl-C: the terminal has already sent SIGINT to the workers, and a second one would end them
      // without their checkpoint.
      send_all(SIGTERM);
      enter(Phase::kStopping, launch_.stop_grace);
    } else if (phase_ == Phase::kFailing || phase_ == Phase::kCompleting) {
      end_all();
    }
  }

  void on_deadline() {
    if (phase_ == Phase::kFailing || phase_ == Phase::kCompleting) return end_all();
    if (phase_ != Phase::kKilled) return kill_all();
    for (auto& worker : workers_) {
      if (!worker.running) continue;
      add_end(worker, 0, SIGKILL);
      worker.process.child.release();  // nobody waits for it any more
    }
  }

  void end_all() {
    for (auto& worker : workers_) worker.ended_by_launcher |= worker.running;
    send_all(SIGTERM);
    enter(Phase::kEnding, launch_.end_grace);
  }

  void kill_all() {
    for (auto& worker : workers_) worker.ended_by_launcher |= worker.running;
    send_all(SIGKILL);
    enter(Phase::kKilled, kKillWait);
  }

  // Only to processes not yet reaped: their numbers cannot belong to anyone else.
  void send_all(int signal) {
    for (const auto& worker : workers_) worker.process.child.send(signal);
  }

  void enter(Phase phase, std::chrono::milliseconds limit) {
    phase_ = phase;
    deadline_ = Clock::now() + limit;
  }

  const LocalLaunch& launch_;
  std::vector<std::pair<std::string, std::string>> environment_;  // of the workers, beside the launcher's own
  SignalInbox signals_;
  std::unique_ptr<comm::HostedStore> store_;  // until the workers have met
  std::deque<Worker> workers_;
  std::vector<WorkerEnd> ends_;
  Phase phase_ = Phase::kRunning;
  std::optional<Clock::time_point> deadline_;
  int stop_signal_ = 0, restarts_ = 0;
  Clock::time_point stop_time_;
};

}  // namespace

int launch_local_workers(const LocalLaunch& launch, const comm::Stores& stores) {
  if (launch.workers < 1 || launch.workers > comm::kMaxWorldSize) {
    throw user_error(fmt::format("[launch] {} workers are not from 1 to {}; correct --workers", launch.workers,
                                 comm::kMaxWorldSize));
  }
  const auto verdict = Supervisor(launch, stores).run();
  if (!verdict.message.empty()) write_all(STDERR_FILENO, verdict.message + "\n");
  return verdict.exit_code;
}

}  // namespace linac::launch
