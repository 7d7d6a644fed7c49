#include "linac/train/workers/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linac/base/base/argument_pointers.h"
#include "linac/base/base/error.h"
#include "linac/train/workers/worker_error.h"

namespace linac::launch {
namespace {

Error failed(const char* call) {
  return environment_error(
      fmt::format("[launch] cannot start a worker ({}: {}); raise the limits of processes or open "
                  "files, or use fewer workers",
                  call, std::strerror(errno)));
}

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(changes.begin(), changes.end(), [&](const auto& c) { return c.first == name; });
    if (!replaced) merged.emplace_back(text);
  }
  for (const auto& [name, value] : changes) merged.push_back(name + "=" + value);
  return merged;
}

// Everything the child needs, made before the fork: this process has threads (the store's), so the child may call only
// async-signal-safe functions until it executes the program.
struct Prepared {
  const char* program;
  char* const* argv;
  char* const* envp;
  pid_t parent;
  int error_fd;
  int output_fd;  // -1: inherit
  int null_fd;
  std::string exec_failure;
};

[[noreturn]] void become_worker(const Prepared& prepared) {
  sigset_t none;
  sigemptyset(&none);
  // The launcher's handlers are not the child's.
  for (const int signal : kLauncherSignals) ::signal(signal, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != prepared.parent) _exit(128 + SIGTERM);  // it ended before prctl could tell the kernel
  fcntl(prepared.error_fd, F_SETFD, 0);
  if (prepared.output_fd >= 0) {
    dup2(prepared.null_fd, STDIN_FILENO);
    dup2(prepared.output_fd, STDOUT_FILENO);
    dup2(prepared.output_fd, STDERR_FILENO);
  }
  execve(prepared.program, prepared.argv, prepared.envp);
  send(prepared.error_fd, prepared.exec_failure.data(), prepared.exec_failure.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  _exit(127);
}

}  // namespace

ChildProcess start_child(const ChildCommand& command) {
  ChildProcess child;
  int errors[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, errors) != 0) throw failed("socketpair");
  child.error = Descriptor(errors[0]);
  const Descriptor child_error(errors[1]);
  Descriptor child_output, null;
  if (command.output == Output::kCapture) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw failed("pipe");
    child.output = Descriptor(ends[0]);
    child_output = Descriptor(ends[1]);
    fcntl(child.output.get(), F_SETFL, O_NONBLOCK);
    null = Descriptor(open("/dev/null", O_RDONLY | O_CLOEXEC));
  }

  auto changes = command.environment;
  changes.emplace_back(kErrorFdVariable, std::to_string(child_error.get()));
  auto environment = merged_environment(changes);
  auto arguments = command.argv;
  const auto argv = argument_pointers(arguments);
  const auto envp = argument_pointers(environment);
  const Prepared prepared{
      command.program.c_str(), argv.data(),        envp.data(), getpid(),
      child_error.get(),       child_output.get(), null.get(),  "127\n[launch] cannot execute " + command.program};
  child.pid = fork();
  if (child.pid < 0) throw failed("fork");
  if (child.pid == 0) become_worker(prepared);
  return child;
}

}  // namespace linac::launch
