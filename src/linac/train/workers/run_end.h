#pragma once
// What the ends of all workers mean together: one exit status and one message that names the root cause first. When one
// worker fails, its peers lose it and fail too, often sooner than they can be looked at; the cause is not the last
// error on the screen. Pure.

#include <string>
#include <vector>

namespace linac::launch {

/// How one worker ended. The vector given to judge() lists them in the order in which they ended.
struct WorkerEnd {
  int rank = 0;
  int exit_code = 0;                // when `signal` is 0
  int signal = 0;                   // that killed it
  bool ended_by_launcher = false;   // because another one had failed, or it did not stop in time
  bool forgiven = false;            // the others went on without it
  std::string error{};              // what it reported by report_worker_error
  std::vector<std::string> tail{};  // its last lines of output, where the launcher saw them

  int status() const { return signal != 0 ? 128 + signal : exit_code; }
};

/// "was killed by signal 9 (...)"
std::string describe(const WorkerEnd& end);

struct RunEnd {
  int exit_code = 0;
  std::string message;  // several lines without a final newline; empty when there is nothing to say
};

/// `stop_signal`: the signal by which the user or the batch system asked the launcher to stop, before any failure, or
/// 0.
/// Those that the others went on without count only if there are no others.
/// - every worker 0, or 0 and ended by the launcher: 0. All 0 or 75, at least one 75: 75.
/// - stopped: 75 if rank 0 wrote the checkpoint (ended with 75); 137 if a worker had to be killed; else 128 + signal
///   unless a worker failed for a reason of its own.
/// - otherwise the status of the root cause: the first worker that failed by itself with anything but 6 (peer lost) and
///   75; failing that, the first with 75, then the first with 6. Death by signal n counts as 128 + n.
RunEnd judge(const std::vector<WorkerEnd>& all, int stop_signal);

}  // namespace linac::launch
