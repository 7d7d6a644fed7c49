#pragma once
// One worker process: started with its environment, its output and its error channel. Movable owner of the process and
// the descriptors. One thread at a time.

#include <signal.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/child_process.h"
#include "linac/base/base/descriptor.h"

namespace linac::launch {

/// What the launcher hears of while it has children; SIGCHLD among them because of its handler: were it ignored, as
/// some parents leave it, the kernel would reap the workers unseen.
inline constexpr std::array kLauncherSignals{SIGINT, SIGTERM, SIGUSR1, SIGCHLD};

enum class Output {
  kInherit,  // the caller's standard output and error
  kCapture,  // both go, in order, to WorkerProcess::output
};

struct WorkerCommand {
  std::string program;                                           // a path
  std::vector<std::string> argv;                                 // with argv[0]
  std::vector<std::pair<std::string, std::string>> environment;  // replaces or adds to this process's
  Output output = Output::kInherit;
};

struct WorkerProcess {
  ChildProcess child;
  Descriptor output;  // non-blocking; only with Output::kCapture
  Descriptor error;   // for received_worker_error
};

/// The worker gets SIGTERM when this process ends, however that happens. It starts with the stop signals held until it
/// asks for them (base/base/signals.h), and else with what the calling thread blocks. A program
/// that cannot be executed shows as exit code 127 with a reported error; environment error when the system has no
/// process or descriptor left. To be called from the main thread: the kernel ties the SIGTERM to the calling thread.
WorkerProcess start_worker_process(const WorkerCommand& command);

}  // namespace linac::launch
