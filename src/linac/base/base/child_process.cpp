#include "linac/base/base/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "linac/base/base/argument_pointers.h"
#include "linac/base/base/error.h"

namespace linac {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr int kNotSettled = 126, kNotExecuted = 127;  // as shells say it
constexpr int kFirstOther = STDERR_FILENO + 1;
constexpr std::chrono::seconds kKillWait{10};

// vfork() returns when the child has become its program or has ended, so what it reports is there. ThreadSanitizer
// makes a fork() of it, which is to be waited for.
#if defined(__SANITIZE_THREAD__)
constexpr int kReportMs = 10'000;
#elif defined(__has_feature)
constexpr int kReportMs = __has_feature(thread_sanitizer) ? 10'000 : 0;
#else
constexpr int kReportMs = 0;
#endif

/// What a child needs, made before the fork.
struct Prepared {
  const ChildSettings& settings;
  std::array<int, kFirstOther> streams{};  // -1: as they are
  std::vector<int> open{};                 // stays open, in order
  int files_max = 0;
  pid_t parent = 0;
  Descriptor null{};
};

/// Empty if /dev/null cannot be opened (errno).
std::optional<Prepared> prepare(const ChildSettings& child, int report) {
  Prepared prepared{child};
  prepared.streams = {child.in, child.out, child.errors};
  for (int& stream : prepared.streams) {
    if (stream != ChildSettings::kNothing) continue;
    if (!prepared.null) prepared.null = Descriptor(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!prepared.null) return std::nullopt;
    stream = prepared.null.get();
  }
  for (const int descriptor : child.inherited) LINAC_CHECK(descriptor >= kFirstOther);
  prepared.open = child.inherited;
  if (report >= 0) prepared.open.push_back(report);
  std::sort(prepared.open.begin(), prepared.open.end());
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  prepared.files_max = static_cast<int>(std::min<rlim_t>(files.rlim_cur, 1 << 20));
  prepared.parent = ::getpid();
  return prepared;
}

// From here to the next such line: in the child, by async-signal-safe calls alone. It may share the memory of its
// parent and writes to nothing but its stack.

void close_all(int first, int end, int files_max) {
  if (first >= end || ::close_range(static_cast<unsigned>(first), static_cast<unsigned>(end) - 1, 0) == 0) return;
  for (int descriptor = first; descriptor < std::min(end, files_max); ++descriptor) ::close(descriptor);  // Linux < 5.9
}

/// The call that failed (errno), or null.
const char* settle(const Prepared& prepared) {
  const ChildSettings& child = prepared.settings;
  if (child.leads == ChildSettings::Leads::kGroup && ::setpgid(0, 0) != 0) return "setpgid";
  if (child.leads == ChildSettings::Leads::kSession && ::setsid() < 0) return "setsid";
  if (child.death_signal != 0) {
    if (::prctl(PR_SET_PDEATHSIG, child.death_signal) != 0) return "prctl";
    errno = ESRCH;
    if (::getppid() != prepared.parent) return "prctl";  // it ended before the kernel knew
  }
  // One that is to become a stream may have the number of another one.
  std::array<int, kFirstOther> from = prepared.streams;
  for (int& stream : from)
    if (stream >= 0 && stream < kFirstOther && (stream = ::fcntl(stream, F_DUPFD_CLOEXEC, kFirstOther)) < 0)
      return "fcntl";
  for (int i = 0; i < kFirstOther; ++i)
    if (from[static_cast<size_t>(i)] >= 0 && ::dup2(from[static_cast<size_t>(i)], i) < 0) return "dup2";
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != prepared.streams[i]) ::close(from[i]);
  for (const int descriptor : child.inherited)
    if (::fcntl(descriptor, F_SETFD, 0) != 0) return "fcntl";
  if (child.others == ChildSettings::Others::kKept) return nullptr;
  int first = kFirstOther;
  for (const int descriptor : prepared.open) {
    close_all(first, descriptor, prepared.files_max);
    first = descriptor + 1;
  }
  close_all(first, INT_MAX, prepared.files_max);
  return nullptr;
}

struct Image {
  std::vector<const char*> paths;  // tried one after the other
  char* const* words;
  char* const* environment;
  const char* folder;  // or null
  Program::Signals signals;
  sigset_t mask;  // of the thread
  int report;
};

struct Report {
  const char* failed;
  int error;
};

// While all are blocked no handler runs, which would run on the parent's memory.
void settle_signals(const Image& image) {
  for (int number = 1; number < NSIG; ++number) {
    struct sigaction action {};
    if (::sigaction(number, nullptr, &action) != 0 || action.sa_handler == SIG_DFL) continue;
    if (action.sa_handler == SIG_IGN && image.signals != Program::Signals::kDefault) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    ::sigaction(number, &action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, image.signals == Program::Signals::kSame ? &image.mask : &none, nullptr);
}

/// As execvp(3) goes on along PATH.
bool is_elsewhere_perhaps(int error) {
  return error == ENOENT || error == ENOTDIR || error == EACCES || error == ESTALE || error == ENODEV ||
         error == ETIMEDOUT;
}

[[noreturn]] void become(const Prepared& prepared, const Image& image) {
  Report report{settle(prepared), 0};
  int status = kNotSettled;
  if (report.failed == nullptr && image.folder != nullptr && ::chdir(image.folder) != 0) report.failed = "chdir";
  if (report.failed == nullptr) {
    settle_signals(image);
    report.failed = "exec";
    status = kNotExecuted;
    bool denied = false;
    errno = ENOENT;
    for (const char* path : image.paths) {
      ::execve(path, image.words, image.environment);
      denied |= errno == EACCES;
      if (!is_elsewhere_perhaps(errno)) break;
    }
    if (denied && is_elsewhere_perhaps(errno)) errno = EACCES;
  }
  report.error = errno;
  [[maybe_unused]] const ssize_t written = ::write(image.report, &report, sizeof report);
  ::_exit(status);
}

// A function of its own: nothing of it changes between the two returns.
[[gnu::noinline]] pid_t spawn(const Prepared& prepared, const Image& image) {
  const pid_t id = ::vfork();
  if (id == 0) become(prepared, image);
  return id;
}

// In the parent again.

std::vector<std::string> paths_of(const std::string& name) {
  if (name.find('/') != std::string::npos) return {name};
  const char* const variable = std::getenv("PATH");
  const std::string_view folders = variable != nullptr ? variable : "/bin:/usr/bin";
  std::vector<std::string> paths;
  if (name.empty()) return paths;
  for (size_t from = 0; from <= folders.size();) {
    const size_t colon = std::min(folders.find(':', from), folders.size());
    const std::string folder(folders.substr(from, colon - from));
    paths.push_back((folder.empty() ? "." : folder) + "/" + name);
    from = colon + 1;
  }
  return paths;
}

ProcessStart not_started(const std::string& name, const char* call) {
  return {.process = {}, .name = name, .failed = call, .error = errno};
}

ProcessEnd end_of(int status) {
  return {.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0,
          .signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0};
}

bool leads(const ChildSettings& child) {
  return child.leads != ChildSettings::Leads::kNothing;
}

}  // namespace

ChildProcess::~ChildProcess() {
  if (!runs()) return;
  kill();
  wait_for(kKillWait);
}

std::optional<ProcessEnd> ChildProcess::ended() {
  if (!runs()) return end_;
  int status = 0;
  const pid_t got = ::waitpid(id_, &status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return std::nullopt;
  if (got > 0 && !WIFEXITED(status) && !WIFSIGNALED(status)) return std::nullopt;  // halted by a tracer
  return end_ = end_of(status);
}

std::optional<ProcessEnd> ChildProcess::wait_for(milliseconds limit) {
  constexpr milliseconds kPause{2};
  const auto until = Clock::now() + limit;
  for (;;) {
    if (const auto end = ended(); end || Clock::now() >= until) return end;
    std::this_thread::sleep_for(kPause);
  }
}

ProcessEnd ChildProcess::wait() {
  LINAC_CHECK(id_ > 0);
  for (int status = 0; !end_;) {
    const pid_t got = ::waitpid(id_, &status, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 || WIFEXITED(status) || WIFSIGNALED(status)) end_ = end_of(status);
  }
  return *end_;
}

void ChildProcess::send(int signal) const {
  if (runs()) ::kill(id_, signal);
}

void ChildProcess::kill() const {
  if (runs()) ::kill(leads_group_ ? -id_ : id_, SIGKILL);
}

std::string ProcessStart::why() const {
  return std::strerror(error);
}

std::string ProcessStart::problem() const {
  return fmt::format("{}: cannot be started ({}: {})", name, failed != nullptr ? failed : "", why());
}

ProcessStart start_program(const Program& program, const ChildSettings& child) {
  LINAC_CHECK(!program.words.empty());
  const std::string& name = program.path.empty() ? program.words[0] : program.path;
  Pipe told = make_pipe();
  if (!told) return not_started(name, "pipe");
  const Descriptor& report = told.from;
  Descriptor reports = std::move(told.to);
  const auto prepared = prepare(child, reports.get());
  if (!prepared) return not_started(name, "open");

  std::vector<std::string> words = program.words, variables = program.environment.value_or(std::vector<std::string>());
  const std::vector<std::string> paths = paths_of(name);
  const auto arguments = argument_pointers(words), environment = argument_pointers(variables);
  Image image{.paths = {},
              .words = arguments.data(),
              .environment = program.environment ? environment.data() : environ,
              .folder = program.folder.empty() ? nullptr : program.folder.c_str(),
              .signals = program.signals,
              .mask = {},
              .report = reports.get()};
  for (const std::string& path : paths) image.paths.push_back(path.c_str());
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &image.mask);
  const pid_t id = spawn(*prepared, image);
  const int error = errno;
  ::pthread_sigmask(SIG_SETMASK, &image.mask, nullptr);
  errno = error;
  if (id < 0) return not_started(name, "fork");
  ProcessStart start{.process = ChildProcess(id, leads(child)), .name = name};
  reports.reset();
  pollfd ready{report.get(), POLLIN, 0};
  Report said{};
  if (::poll(&ready, 1, kReportMs) == 1 && ::read(report.get(), &said, sizeof said) == sizeof said) {
    start.failed = said.failed;
    start.error = said.error;
  }
  return start;
}

ProcessStart run_in_child(const std::function<int()>& function, const ChildSettings& child) {
  const auto prepared = prepare(child, -1);
  if (!prepared) return not_started("", "open");
  const pid_t id = ::fork();
  if (id < 0) return not_started("", "fork");
  if (id == 0) {
    if (settle(*prepared) != nullptr) ::_exit(kNotSettled);
    try {
      ::_exit(function());
    } catch (...) {
      ::_exit(static_cast<int>(ErrorCode::kInternal));
    }
  }
  // In both: whoever comes first, it is one before anybody sends something to it.
  if (child.leads == ChildSettings::Leads::kGroup) ::setpgid(id, id);
  return {.process = ChildProcess(id, leads(child))};
}

Pipe make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {};
  Pipe pipe{above_streams(Descriptor(ends[0])), above_streams(Descriptor(ends[1]))};
  return pipe.from && pipe.to ? std::move(pipe) : Pipe();
}

std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes) {
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

Descriptor above_streams(Descriptor descriptor) {
  if (!descriptor || descriptor.get() >= kFirstOther) return descriptor;
  return Descriptor(::fcntl(descriptor.get(), F_DUPFD_CLOEXEC, kFirstOther));
}

}  // namespace linac
