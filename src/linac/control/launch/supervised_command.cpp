#include "linac/control/launch/supervised_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/keyctl.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "linac/base/base/argument_pointers.h"
#include "linac/base/base/child_process.h"
#include "linac/base/base/descriptor.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/launch/attempt_folder.h"
#include "linac/control/launch/control_group.h"
#include "linac/control/launch/fences.h"
#include "linac/control/launch/sandbox.h"

namespace linac::launch {
namespace {

// Of the service's own environment a command gets what it takes to find programs, libraries and files, and nothing that
// may be secret.
constexpr const char* kPassedOn[] = {"PATH",   "LD_LIBRARY_PATH", "LANG",          "LC_ALL",     "TZ",
                                     "TMPDIR", "LINAC_CACHE",     "LINAC_ISA",     "http_proxy", "https_proxy",
                                     "HOME",   "no_proxy",        "SSL_CERT_FILE", "USER",       "LINAC_LOG_LEVEL"};

std::string joined(const std::vector<int>& numbers) {
  std::string text;
  for (const int number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

std::vector<std::string> environment_of(const Command& command, const std::string& attempt, const passwd* account,
                                        const Given& given) {
  std::vector<std::pair<std::string, std::string>> variables;
  const auto set = [&](const std::string& name, const std::string& value) {
    std::erase_if(variables, [&](const auto& variable) { return variable.first == name; });
    variables.emplace_back(name, value);
  };
  for (const char* name : kPassedOn)
    if (const char* value = std::getenv(name)) set(name, value);
  if (account != nullptr) {
    // Accounts of services have none; what a program keeps for later is then kept beside its outputs.
    struct stat about {};
    const bool has_home = stat(account->pw_dir, &about) == 0 && S_ISDIR(about.st_mode);
    set("HOME", has_home ? account->pw_dir : command.directory);
    set("USER", account->pw_name);
  }
  // In a sandbox only what is within it has them: bwrap would be the first to do what a variable says.
  if (!command.view)
    for (const auto& [name, value] : given.variables) set(name, value);
  for (const auto& [name, value] : command.environment) set(name, value);
  set("CUDA_VISIBLE_DEVICES", joined(command.limits.gpus));
  set(kAttemptVariable, attempt);
  std::vector<std::string> texts;
  for (const auto& [name, value] : variables) texts.push_back(name + "=" + value);
  return texts;
}

[[noreturn]] void fail(const char* what) {
  const std::string line = fmt::format("[launch] {} ({})\n", what, std::strerror(errno));
  [[maybe_unused]] const auto written = write(STDERR_FILENO, line.data(), line.size());
  _exit(127);
}

// The service raises its own limit for its connections, and a program that uses select(2) cannot have so many.
constexpr rlim_t kFilesMax = 65536;

void set_limits(const Limits& limits) {
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = std::min(files.rlim_max, kFilesMax);
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (limits.memory_mb > 0) {
    const auto bytes = static_cast<rlim_t>(limits.memory_mb) << 20;
    const rlimit data{bytes, bytes};
    if (setrlimit(RLIMIT_DATA, &data) != 0) fail("the limit of memory cannot be set");
  }
  if (limits.cores.empty()) return;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  for (const int core : limits.cores)
    if (core >= 0 && core < CPU_SETSIZE) CPU_SET(core, &cores);
  if (sched_setaffinity(0, sizeof cores, &cores) != 0) fail("the cores given to it cannot be used");
}

void become(const passwd& account) {
  if (initgroups(account.pw_name, account.pw_gid) != 0 || setgid(account.pw_gid) != 0 || setuid(account.pw_uid) != 0)
    fail("cannot become the declared account");
  // Nothing that runs under a job may get back what was given up here.
  if (account.pw_uid != 0 && setuid(0) == 0) fail("the declared account could become root");
}

// What a process hands on although nobody says so: groups and capabilities of a service that was given some, its keys,
// and its place among those that the kernel spares when memory is short.
void leave_behind_what_is_the_services() {
  const passwd* own = geteuid() == 0 ? getpwuid(geteuid()) : nullptr;
  if (own != nullptr && initgroups(own->pw_name, own->pw_gid) != 0) fail("the service's groups cannot be left");
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3] = {};
  if (syscall(SYS_capget, &header, capabilities) == 0) {
    for (auto& part : capabilities) part.inheritable = 0;
    syscall(SYS_capset, &header, capabilities);
  }
  syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, nullptr);
  if (const Descriptor score(open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC)); score) {
    char first = 0;
    if (read(score.get(), &first, 1) == 1 && first == '-') [[maybe_unused]]
      const auto written = pwrite(score.get(), "0", 1, 0);
  }
}

// The supervisor has one thread, so the child may use all of the library.
[[noreturn]] void run(const Command& command, const passwd* account, const Descriptor& wait, std::vector<char*> argv,
                      std::vector<char*> environment) {
  prctl(PR_SET_DUMPABLE, 1);  // again: else its own /proc would not be its own
  char go = 0;
  if (::read(wait.get(), &go, 1) != 1) _exit(127);
  if (!ControlGroup(command.group).enter()) fail("its control group cannot be entered");
  sigset_t none;
  sigemptyset(&none);
  signal(SIGTERM, SIG_DFL);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  set_limits(command.limits);
  leave_behind_what_is_the_services();
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  if (!put_up_landlock()) fail("Landlock cannot be put up");
  if (account != nullptr) {
    become(*account);
    // A sandbox puts it up itself, behind its last mount.
    if (!command.view && !put_up_call_filter()) fail("the filter of system calls cannot be put up");
  }
  umask(022);
  if (!command.directory.empty() && chdir(command.directory.c_str()) != 0)
    fail(("the folder " + command.directory + " cannot be entered").c_str());
  execve(argv.front(), argv.data(), environment.data());
  fail((std::string(argv.front()) + " cannot be executed").c_str());
}

}  // namespace

Descriptor open_log(const Command& command) {
  return Descriptor(open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640));
}

const passwd* account_of(const Command& command, std::string& problem) {
  if (command.account.empty()) return nullptr;
  problem = why_not_as(command.account);
  return problem.empty() && command.account != own_account() ? getpwnam(command.account.c_str()) : nullptr;
}

Started start_command(const Command& command, const std::string& attempt, const Given& given, Descriptor& gate) {
  if (command.argv.empty()) return {0, "there is no command"};
  std::string problem;
  const passwd* account = account_of(command, problem);
  if (!problem.empty()) return {0, problem};
  const Descriptor log = given.output ? Descriptor() : open_log(command);
  if (!log && !given.output) return {0, fmt::format("{} cannot be written ({})", command.log, std::strerror(errno))};
  Pipe go = make_pipe(), info = command.view ? make_pipe() : Pipe();
  const Descriptor tells = std::move(info.to);
  if (!go || (command.view && !tells)) return {0, "no descriptors left"};
  gate = std::move(go.to);
  Descriptor more;
  if (command.view && !given.variables.empty()) {
    more = in_memory(variables_of_sandbox(given.variables));
    if (!more) return {0, "no memory left for its variables"};
  }
  const Descriptor filter = command.view ? call_filter() : Descriptor();
  if (command.view && !filter) return {0, "no memory left for its fence"};
  std::vector<int> inherited;
  for (const Descriptor* file : {&tells, &std::as_const(more), &filter})
    if (*file) inherited.push_back(file->get());
  auto arguments = command.view ? sandboxed(command, {tells.get(), filter.get(), more.get()}) : command.argv;
  auto environment = environment_of(command, attempt, account, given);
  const int output = given.output ? given.output.get() : log.get();
  ProcessStart start = run_in_child(
      [&]() -> int {
        gate.reset();
        run(command, account, go.from, argument_pointers(arguments), argument_pointers(environment));
      },
      {.out = output,
       .errors = output,
       .inherited = inherited,
       .others = ChildSettings::Others::kKept,
       .leads = ChildSettings::Leads::kGroup});
  if (!start) return {0, fmt::format("no process left ({})", start.why())};
  return {start.process.release(), "", std::move(info.from)};
}

}  // namespace linac::launch
