#include "linac/control/launch/local_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/launch/control_group.h"

namespace linac::launch {
namespace {

Error cannot_start(const std::string& what, int error) {
  return environment_error(
      fmt::format("[launch] {} cannot be started ({}); is it there, and are there processes and memory left?", what,
                  std::strerror(error)));
}

ChildProcess started_supervisor(const std::vector<std::string>& argv, const std::string& log) {
  const Descriptor out(::open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640));
  if (!out) throw cannot_start(argv.front(), errno);
  ProcessStart start = start_program(
      {.words = argv, .signals = Program::Signals::kDefault},
      {.in = ChildSettings::kNothing, .out = out.get(), .errors = out.get(), .leads = ChildSettings::Leads::kSession});
  if (!start) throw cannot_start(argv.front(), start.error);
  return std::move(start.process);
}

// Of an attempt that was begun before; one that cannot be looked at has nothing, and status() says why.
std::optional<Command> begun_command(const std::filesystem::path& folder) {
  try {
    return AttemptFolder(folder).command();
  } catch (const Error&) {
    return std::nullopt;
  }
}

// Why nothing that lies in the folder can be believed, or "".
std::string why_not_ours(const AttemptFolder& folder) {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(folder.root(), error))) return "";
  try {
    folder.check();
    return "";
  } catch (const Error& not_ours) {
    return not_ours.what();
  }
}

// Of one that was begun; one whose command cannot be read has none.
ControlGroup group_of(const AttemptFolder& attempt) {
  const auto command = begun_command(attempt.root());
  return ControlGroup(command ? command->group : GroupPlace());
}

// The command and all that it has started: whatever is in its control group, and where there is none, what bears its
// mark.
std::vector<ProcessKey> left_of(const AttemptFolder& attempt) {
  auto processes = group_of(attempt).members();
  const auto add = [&](const ProcessKey& other) {
    if (std::find(processes.begin(), processes.end(), other) == processes.end()) processes.push_back(other);
  };
  for (const ProcessKey& marked : processes_with(kAttemptVariable, attempt.root().string())) add(marked);
  // The leader bears the mark only after it has executed its program; the first of a sandbox ends with the last in
  // there.
  for (const auto& other : {attempt.process(), attempt.sandbox()})
    if (other && alive(*other)) add(*other);
  return processes;
}

}  // namespace

LocalLauncher::LocalLauncher(std::vector<std::string> supervisor, Slots slots, ControlGroups groups)
    : supervisor_(std::move(supervisor)), slots_(std::move(slots)), groups_(std::move(groups)) {}

LocalLauncher::~LocalLauncher() {
  for (ChildProcess& child : children_) child.release();  // they outlive the service
}

Capacity LocalLauncher::capacity() {
  return {slots_.all(), slots_.free()};
}

std::string LocalLauncher::why_not_as(const std::string& account) {
  return launch::why_not_as(account);
}

void LocalLauncher::prepare(const AttemptKey& attempt, const Demand& demand) {
  if (held_.contains(attempt.folder)) return;
  const auto command = begun_command(attempt.folder);
  // One that was written down, and no more, has nothing yet that is its own.
  Limits limits = command ? command->limits : slots_.take(demand).value_or(Limits());
  if (command) slots_.retake(limits, demand);
  held_.emplace(attempt.folder, Held{demand, std::move(limits)});
}

void LocalLauncher::release(const AttemptKey& attempt) {
  AttemptFolder(attempt.folder).remove_secrets();  // of one that was never started
  stopping_.erase(attempt.folder);
  const auto found = held_.find(attempt.folder);
  if (found == held_.end()) return;
  slots_.give_back(found->second.limits, found->second.demand);
  held_.erase(found);
}

void LocalLauncher::start_supervisor(const std::filesystem::path& folder, Held& held) {
  ++held.starts;
  held.started_at = Clock::now();
  std::vector<std::string> argv = supervisor_;
  argv.push_back(folder.string());
  children_.push_back(started_supervisor(argv, AttemptFolder(folder).supervisor_log().string()));
}

void LocalLauncher::start(const AttemptKey& attempt, const Command& command) {
  const AttemptFolder folder(attempt.folder);
  if (folder.supervisor()) return;
  Held& held = held_.at(attempt.folder);
  folder.make();
  // Also over one that is there: whatever lies in the folder, what starts is what this service says now.
  Command limited = command;
  limited.limits = held.limits;
  limited.group = groups_.place(attempt.label, attempt.folder);
  folder.write(limited);
  folder.write_secrets(command.secrets);
  start_supervisor(attempt.folder, held);
}

void LocalLauncher::reap() {
  std::erase_if(children_, [](ChildProcess& child) { return child.ended().has_value(); });
}

AttemptStatus LocalLauncher::not_shown(const std::filesystem::path& folder) {
  const auto found = held_.find(folder);
  if (found == held_.end() || found->second.starts == 0) return {};
  Held& held = found->second;
  if (Clock::now() - held.started_at < kStartMax) return {};
  AttemptStatus status;
  if (held.starts == kStartsMax) AttemptFolder(folder).remove_secrets();
  if (held.starts < kStartsMax) {
    try {
      start_supervisor(folder, held);
      return {};
    } catch (const Error& error) {
      status.reason = error.what();
    }
  } else {
    status.reason =
        fmt::format("its process does not start; {} may say why", AttemptFolder(folder).supervisor_log().string());
  }
  status.state = AttemptState::kEnded;
  return status;
}

AttemptStatus LocalLauncher::status(const AttemptKey& attempt) {
  reap();
  const AttemptFolder folder(attempt.folder);
  if (const std::string why = why_not_ours(folder); !why.empty()) {
    AttemptStatus status;
    status.state = AttemptState::kEnded;
    status.reason = why;
    return status;
  }
  const auto supervisor = folder.supervisor();
  // In this order: who sees no supervisor alive sees what it has written last.
  const bool supervised = supervisor && alive(*supervisor);
  AttemptStatus status;
  status.exit = folder.exit();
  status.started_ms = folder.started_ms();
  if (status.exit) {
    status.state = AttemptState::kEnded;
  } else if (!supervisor) {
    return not_shown(attempt.folder);
  } else if (supervised || !left_of(folder).empty()) {
    status.state = AttemptState::kRunning;
  } else {
    status.state = AttemptState::kLost;
    folder.remove_secrets();  // while it is not written down that nobody need look there again
    group_of(folder).remove();
    status.reason = "its processes are gone without a word; the host may have been restarted";
  }
  return status;
}

AttemptUse LocalLauncher::use(const AttemptKey& attempt) {
  const AttemptFolder folder(attempt.folder);
  const ProcessUse processes = use_of(left_of(folder));
  AttemptUse use;
  use.cpu_s = processes.cpu_s;
  use.memory_bytes = group_of(folder).memory_bytes().value_or(processes.memory_bytes);
  use.read_bytes = processes.read_bytes;
  use.written_bytes = processes.written_bytes;
  use.host = host_.read();
  if (const auto found = held_.find(attempt.folder); found != held_.end())
    use.gpus = energy::gpu_meter().read(found->second.limits.gpus);
  return use;
}

std::optional<std::string> LocalLauncher::output(const AttemptKey&, int64_t, size_t) {
  return std::nullopt;
}

void LocalLauncher::cancel(const AttemptKey& attempt) {
  if (attempt.folder.empty()) return;  // of none that this host knows
  const AttemptFolder folder(attempt.folder);
  const auto supervisor = folder.supervisor();
  if (supervisor && send_signal(*supervisor, SIGTERM)) return;
  if (!supervisor) folder.remove_secrets();
  // Without supervisor, all that is left of the command.
  const auto processes = left_of(folder);
  if (processes.empty()) return;
  const auto now = Clock::now();
  const auto command = folder.command();
  const std::chrono::duration<double> grace(command ? command->stop_grace_s : 0);
  const auto [since, first] = stopping_.emplace(attempt.folder, now);
  const bool over = now - since->second > grace;
  if (!first && !over) return;
  for (const ProcessKey& process : processes) send_signal(process, over ? SIGKILL : SIGTERM);
  if (over) group_of(folder).kill();
}

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe").string();
}

std::unique_ptr<Launcher> local_launcher(Slots slots, ControlGroups groups) {
  return std::make_unique<LocalLauncher>(std::vector<std::string>{this_program(), "supervise"}, std::move(slots),
                                         std::move(groups));
}

}  // namespace linac::launch
