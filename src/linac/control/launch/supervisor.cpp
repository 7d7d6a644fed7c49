#include "linac/control/launch/supervisor.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "linac/base/base/clock.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/redactor.h"
#include "linac/base/base/sole_lock.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/launch/control_group.h"
#include "linac/control/launch/log_relay.h"
#include "linac/control/launch/process_facts.h"
#include "linac/control/launch/sandbox.h"
#include "linac/control/launch/supervised_command.h"

namespace linac::launch {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kTakenStatus = static_cast<int>(ErrorCode::kUser),
              kFolderStatus = static_cast<int>(ErrorCode::kEnvironment);
constexpr milliseconds kLeftBehindMax{10'000};  // for what the command started and did not wait for
constexpr milliseconds kPoll{100}, kWait{1000}, kToldMax{10'000};
constexpr int kSignalStatus = 128;  // bwrap, as a shell, ends with this much more than the signal that its command got
constexpr std::chrono::minutes kWriteTrialsMax{10};  // the disk may be full for a while

// Libraries may have threads by now that do not block SIGTERM: one of them may get it, and it must not be the end of
// all.
volatile std::sig_atomic_t stop_wished = 0;

// Waits for signals: SIGCHLD and SIGTERM are blocked and taken here, so nothing comes between looking and sleeping.
class Signals {
 public:
  Signals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGCHLD);
    sigaddset(&set_, SIGTERM);
    sigprocmask(SIG_BLOCK, &set_, nullptr);
    signal(SIGTERM, [](int) { stop_wished = 1; });
    // Signals of the terminal or of a shutdown's first round are for the command's group, not for its bookkeeper.
    for (const int number : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) signal(number, SIG_IGN);
  }
  /// The next of the two, or 0 when `timeout` has passed.
  int wait(milliseconds timeout) const {
    const timespec time{timeout.count() / 1000, timeout.count() % 1000 * 1'000'000};
    const int number = sigtimedwait(&set_, nullptr, &time);
    if (stop_wished != 0) return SIGTERM;
    return number > 0 ? number : 0;
  }

 private:
  sigset_t set_;
};

// What bwrap says of the sandbox's first process: within moments, or its end.
std::optional<ProcessKey> first_of_sandbox(const Descriptor& told) {
  std::string text;
  const auto deadline = Clock::now() + kToldMax;
  for (char piece[256]; Clock::now() < deadline && text.find('}') == std::string::npos;) {
    pollfd wait{told.get(), POLLIN, 0};
    if (poll(&wait, 1, 100) <= 0) continue;
    const ssize_t got = read(told.get(), piece, sizeof piece);
    if (got == 0) break;
    if (got > 0) text.append(piece, static_cast<size_t>(got));
  }
  ProcessKey first = process_key(first_process(text));
  return first.pid == 0 ? std::nullopt : std::optional(std::move(first));
}

struct Watch {
  const AttemptFolder& folder;
  const Command& command;
  pid_t pid;
  const Signals& signals;
  pid_t parent = 0;
  std::vector<ProcessKey> helpers = {};              // of this process, and none of the command's
  std::optional<ProcessKey> sandbox = std::nullopt;  // its first process, that leads the group of the command
  std::optional<Clock::time_point> stop_begin = std::nullopt;
  bool stop_sent = false;

  bool told_to_stop() const { return stop_begin.has_value(); }
  bool abandoned() const { return parent != 0 && getppid() != parent; }

  void stop() {
    if (!stop_begin) stop_begin = Clock::now();
    if (stop_sent) return;
    // Who waits for a sandbox is not to be told, and what is in there becomes a group a moment after it begins.
    if (command.view && !sandbox) return;
    if (sandbox && getpgid(sandbox->pid) != sandbox->pid) return;
    kill(sandbox ? -sandbox->pid : -pid, SIGTERM);
    stop_sent = true;
  }

  void end_sandbox() const {
    if (sandbox) send_signal(*sandbox, SIGKILL);
  }

  void kill_all() const {
    end_sandbox();
    kill(-pid, SIGKILL);
    ControlGroup(command.group).kill();
    kill_descendants(helpers);
  }

  // Takes all children that have ended; the status of the command, once it is among them.
  std::optional<int> reap() const {
    std::optional<int> status;
    int value = 0;
    for (pid_t ended; (ended = waitpid(-1, &value, WNOHANG)) > 0;)
      if (ended == pid) status = value;
    return status;
  }

  int wait_for_command() {
    const std::chrono::duration<double> grace(command.stop_grace_s);
    for (;;) {
      if (const auto status = reap()) return *status;
      if (stop_begin && Clock::now() - *stop_begin > grace) kill_all();
      if (signals.wait(stop_begin ? kPoll : kWait) == SIGTERM || stop_begin || abandoned()) stop();
    }
  }

  // Orphans of the command are this process's children (PR_SET_CHILD_SUBREAPER): until there are none, it has not
  // ended.
  void wait_for_the_rest() const {
    const auto begin = Clock::now();
    for (;;) {
      pid_t ended = 0;
      while ((ended = waitpid(-1, nullptr, WNOHANG)) > 0) {
      }
      if (ended < 0 && errno == ECHILD) return;
      if (Clock::now() - begin > kLeftBehindMax) kill_all();
      signals.wait(kPoll);
    }
  }
};

void write_exit(const AttemptFolder& folder, const Exit& exit) {
  const auto deadline = Clock::now() + kWriteTrialsMax;
  for (;;) {
    try {
      return folder.write(exit);
    } catch (const Error& error) {
      if (Clock::now() > deadline) throw;
      log::error(error.what());
      std::this_thread::sleep_for(std::chrono::seconds(1));
    }
  }
}

// Brings the command's secrets to where it finds them, and lets none come into its log. They are in no file any longer
// when this returns but in those that the command reads.
Given give_secrets(const AttemptFolder& folder, Command& command, std::string& problem) {
  Given given;
  const std::vector<Secret> secrets = folder.secrets();
  if (secrets.empty()) return given;
  prctl(PR_SET_DUMPABLE, 0);  // they are in this process's memory: not for others of the account
  const passwd* account = account_of(command, problem);
  if (!problem.empty()) return given;
  const Descriptor log = open_log(command);
  if (!log) {
    problem = fmt::format("{} cannot be written ({})", command.log, std::strerror(errno));
    return given;
  }
  std::vector<std::pair<std::string, std::string>> values;
  for (const Secret& secret : secrets) values.emplace_back(secret.name, secret.value);
  given.output = start_log_relay(log, Redactor(values));
  given.variables = folder.place_secrets(secrets, account);
  folder.forget_secrets();
  if (command.view) command.view->readable.push_back(folder.secret_files().string());
  return given;
}

Started start(const AttemptFolder& folder, Command& command, Descriptor& gate) {
  Started refused;
  try {
    ControlGroup(command.group).make(command.limits);
    const Given given = give_secrets(folder, command, refused.problem);
    if (refused.problem.empty()) return start_command(command, folder.root().string(), given, gate);
  } catch (const Error& error) {
    refused.problem = error.what();
  }
  return refused;
}

Exit carry_out(const AttemptFolder& folder, Command command, pid_t parent) {
  const Signals signals;
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  const auto begin = Clock::now();
  Descriptor gate;
  const Started started = start(folder, command, gate);
  Exit exit;
  exit.problem = started.problem;
  if (started.pid > 0) {
    folder.write_process(process_key(started.pid));
    std::vector<ProcessKey> helpers = descendants();  // beside the command, which waits for the gate
    std::erase_if(helpers, [&](const ProcessKey& one) { return one.pid == started.pid; });
    if (write(gate.get(), "g", 1) != 1) exit.problem = "it ended before it began";
    gate.reset();
    Watch watch{folder, command, started.pid, signals, parent, std::move(helpers)};
    if (command.view) {
      watch.sandbox = first_of_sandbox(started.told);
      if (watch.sandbox) folder.write_sandbox(*watch.sandbox);
    }
    const int status = watch.wait_for_command();
    if (WIFSIGNALED(status)) watch.end_sandbox();  // nobody would be told how the command ends
    watch.wait_for_the_rest();
    exit.status = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    exit.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (command.view && exit.status > kSignalStatus) {
      exit.signal = exit.status - kSignalStatus;
      exit.status = 0;
    }
    exit.stopped = watch.told_to_stop();
  } else {
    exit.status = 127;
  }
  const ControlGroup group(command.group);
  if (group.killed_for_memory() > 0) exit.out_of_memory_mb = command.limits.memory_together_mb;
  group.remove();
  try {
    folder.remove_secrets();
  } catch (const Error& error) {  // the launcher does it again
    log::error(error.what());
  }
  rusage usage{};
  getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  exit.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  exit.cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  exit.memory_peak_bytes = static_cast<int64_t>(usage.ru_maxrss) << 10;
  exit.ended_ms = now_ms();
  return exit;
}

}  // namespace

int supervise(const std::filesystem::path& root, pid_t parent) {
  const AttemptFolder folder(root);
  try {
    folder.check();
    const auto command = folder.command();
    if (!command) {
      log::error(fmt::format("[launch] {}: no attempt (no command.json)", root.string()));
      return kFolderStatus;
    }
    const Descriptor lock(open(folder.lock().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640));
    if (!lock || !lock_alone(lock.get()) || folder.supervisor()) {
      log::error(fmt::format("[launch] {}: this attempt was started before", root.string()));
      return kTakenStatus;
    }
    folder.write_supervisor(process_key(getpid()));
    write_exit(folder, carry_out(folder, *command, parent));
    return 0;
  } catch (const Error& error) {
    log::error(error.what());
    return static_cast<int>(error.code());
  }
}

}  // namespace linac::launch
