#include "linac/launch/local_launcher.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"
#include "linac/launch/attempt_folder.h"

namespace linac::launch {
namespace {

Error cannot_start(const std::string& what, int error) {
  return environment_error(
      fmt::format("[launch] {} cannot be started ({}); is it there, and are there processes and memory left?", what,
                  std::strerror(error)));
}

// posix_spawn: this process has threads and large memory, of which the child shall have nothing.
pid_t spawn(const std::vector<std::string>& argv, const std::string& log) {
  std::vector<char*> arguments;
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0640);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t pid = 0;
  const int error = posix_spawn(&pid, argv.front().c_str(), &files, &attributes, arguments.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw cannot_start(argv.front(), error);
  return pid;
}

// The command and all that it has started.
std::vector<ProcessKey> left_of(const AttemptFolder& attempt) {
  auto processes = processes_with(kAttemptVariable, attempt.root().string());
  const auto leader = attempt.process();
  // It bears the mark only after it has executed its program.
  if (leader && alive(*leader) && std::find(processes.begin(), processes.end(), *leader) == processes.end())
    processes.push_back(*leader);
  return processes;
}

}  // namespace

void LocalLauncher::start(const std::filesystem::path& folder, const Command& command) {
  const AttemptFolder attempt(folder);
  if (attempt.supervisor()) return;
  make_folder(folder);
  if (!attempt.command()) attempt.write(command);
  std::vector<std::string> argv = supervisor_;
  argv.push_back(folder.string());
  children_.push_back(spawn(argv, attempt.supervisor_log().string()));
}

void LocalLauncher::reap() {
  std::erase_if(children_, [](pid_t pid) { return waitpid(pid, nullptr, WNOHANG) != 0; });
}

AttemptStatus LocalLauncher::status(const std::filesystem::path& folder) {
  reap();
  const AttemptFolder attempt(folder);
  const auto supervisor = attempt.supervisor();
  // In this order: who sees no supervisor alive sees what it has written last.
  const bool supervised = supervisor && alive(*supervisor);
  if (auto exit = attempt.exit()) {
    stopping_.erase(folder);
    return {AttemptState::kEnded, std::move(exit)};
  }
  if (!supervisor) return {};
  if (supervised || !left_of(attempt).empty()) return {AttemptState::kRunning, {}};
  stopping_.erase(folder);
  return {AttemptState::kLost, {}};
}

void LocalLauncher::stop(const std::filesystem::path& folder) {
  const AttemptFolder attempt(folder);
  const auto supervisor = attempt.supervisor();
  if (supervisor && send_signal(*supervisor, SIGTERM)) return;
  // Without supervisor, all that is left of the command.
  const auto processes = left_of(attempt);
  if (processes.empty()) return;
  const auto now = std::chrono::steady_clock::now();
  const auto command = attempt.command();
  const std::chrono::duration<double> grace(command ? command->stop_grace_s : 0);
  const auto [since, first] = stopping_.emplace(folder, now);
  const bool over = now - since->second > grace;
  if (!first && !over) return;
  for (const ProcessKey& process : processes) send_signal(process, over ? SIGKILL : SIGTERM);
}

std::string own_account() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(geteuid());
}

std::string why_not_as(const std::string& account) {
  if (account.empty()) return "no account of this host is declared for the user";
  if (account == own_account()) return "";
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(account.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return fmt::format("this host has no account '{}'", account);
  if (geteuid() != 0)
    return fmt::format("the service runs as '{}' and cannot start jobs as '{}'", own_account(), account);
  return "";
}

}  // namespace linac::launch
