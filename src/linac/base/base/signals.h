#pragma once
// Ctrl-C and SIGTERM as a request that the training loop looks at between steps. Async-signal-safe, thread-safe.

#include <signal.h>

namespace linac {

/// While it lives SIGINT, SIGTERM and SIGUSR1 wait for this thread, and in a program that it becomes or starts until
/// that one calls a function below: none meets a program that does not heed it yet.
class HeldStopSignals {
 public:
  HeldStopSignals();
  /// As they were before.
  ~HeldStopSignals();
  HeldStopSignals(const HeldStopSignals&) = delete;
  HeldStopSignals& operator=(const HeldStopSignals&) = delete;

 private:
  sigset_t former_;
};

/// Those that were held before this program began come as to any other.
void release_stop_signals();
/// From now on, and where they were held before, they end the program at once, with the status of a run that was
/// stopped (ErrorCode::kPreempted) and a line that says so: while there is nothing to save.
void end_at_stop_signals();
/// From now on SIGINT, SIGTERM and SIGUSR1 only set the flag; a second SIGINT ends the program at once.
void catch_stop_signals();
/// The first signal that asked to stop, or 0.
int stop_signal();

}  // namespace linac
