#pragma once
// Other processes: the one place that makes them. A program is started with its arguments, environment, folder,
// streams and signals; a function runs in a copy of this process. Whoever starts a program says nothing between fork
// and exec: all is described before, and carried out by calls that are allowed there. Any thread may start processes,
// several at the same time. A ChildProcess owns one process: it is killed and reaped with its owner, unless it was
// released. One thread at a time has a ChildProcess.

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/descriptor.h"

#include <sys/types.h>

namespace linac {

/// How a process has ended.
struct ProcessEnd {
  int exit_code = 0;
  int signal = 0;  // the one that ended it, or 0

  /// As shells tell it: 128 + n for signal n.
  int status() const { return signal == 0 ? exit_code : 128 + signal; }
  bool well() const { return status() == 0; }
};

class ChildProcess {
 public:
  /// None.
  ChildProcess() = default;
  ChildProcess(pid_t id, bool leads_group) : id_(id), leads_group_(leads_group) {}
  /// Kills it, and with it the group that it leads, if it has not ended. Waits ten seconds at most: what the kernel
  /// holds may not go away.
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(leads_group_, other.leads_group_);
    std::swap(end_, other.end_);
    return *this;
  }

  pid_t id() const { return id_; }
  explicit operator bool() const { return id_ > 0; }
  /// There is one that is not known to have ended.
  bool runs() const { return id_ > 0 && !end_; }

  /// Its end; nothing while it goes on. Exit code 0 if the kernel does not tell (SIGCHLD is ignored).
  std::optional<ProcessEnd> ended();
  /// The same after waiting for it for up to `limit`.
  std::optional<ProcessEnd> wait_for(std::chrono::milliseconds limit);
  ProcessEnd wait();

  /// To it alone. Nobody gets it once the end is known: the number may be somebody else's by now.
  void send(int signal) const;
  /// SIGKILL, to its group if it leads one.
  void kill() const;

  /// It lives on without owner. Its number.
  pid_t release() { return std::exchange(id_, 0); }

 private:
  pid_t id_ = 0;
  bool leads_group_ = false;
  std::optional<ProcessEnd> end_;
};

/// What a child has of its parent, whatever it runs.
struct ChildSettings {
  static constexpr int kSame = -1;     // the parent's stream
  static constexpr int kNothing = -2;  // /dev/null
  enum class Others { kClosed, kKept };
  enum class Leads { kNothing, kGroup, kSession };

  /// Where its streams lead: a descriptor of this process, kSame or kNothing.
  int in = kSame, out = kSame, errors = kSame;
  /// Descriptors that it has under the same numbers, whatever their flags say. Not below 3 (above_streams()).
  std::vector<int> inherited = {};
  /// What else this process has open. kKept: those that do not close by themselves on execution.
  Others others = Others::kClosed;
  Leads leads = Leads::kNothing;
  /// Which signal it gets when the thread that started it ends, however that ends. 0: none.
  int death_signal = 0;
};

struct Program {
  enum class Signals {
    kSame,       // what this thread blocks and this process ignores
    kUnblocked,  // none is blocked
    kDefault,    // none is blocked or ignored
  };

  /// With words[0]. A name without a slash is looked for in PATH.
  std::vector<std::string> words;
  /// What is executed, if it is not words[0].
  std::string path = {};
  /// "NAME=value" each; this process's if there is none.
  std::optional<std::vector<std::string>> environment = {};
  /// The working folder; "": this process's.
  std::string folder = {};
  Signals signals = Signals::kSame;
};

struct ProcessStart {
  ChildProcess process;          // none if there is none left; one that could not become its program has ended
  std::string name = {};         // of the program
  const char* failed = nullptr;  // the call: "fork", "exec", "chdir"
  int error = 0;                 // its errno

  explicit operator bool() const { return failed == nullptr; }
  /// "No such file or directory".
  std::string why() const;
  /// "NAME: cannot be started (exec: No such file or directory)".
  std::string problem() const;
};

/// Returns once the program is executed, or is known not to be; then the process ends with status 127 as in shells, or
/// 126 where something before failed.
ProcessStart start_program(const Program& program, const ChildSettings& child = {});

/// Runs `function` in a copy of this process, which ends with what it returns (1 if it throws) and does nothing else of
/// this program. Of several threads the copy has the calling one: `function` uses no lock that others may hold.
ProcessStart run_in_child(const std::function<int()>& function, const ChildSettings& child = {});

/// What is written to one end is read from the other. Both close by themselves on execution and are above_streams().
struct Pipe {
  Descriptor from{}, to{};
  explicit operator bool() const { return static_cast<bool>(from); }
};
/// Empty (errno) if there are no descriptors left.
Pipe make_pipe();

/// This process's environment with variables replaced or added: for Program.
std::vector<std::string> environment_with(const std::vector<std::pair<std::string, std::string>>& changes);

/// The same open file under a number that is no stream's, as descriptors are that a child inherits. Empty (errno) if
/// there is none left.
Descriptor above_streams(Descriptor descriptor);

}  // namespace linac
