#pragma once
// Ctrl-C and SIGTERM as a request that the training loop looks at between steps. Async-signal-safe, thread-safe.

namespace linac {

/// From now on SIGINT, SIGTERM and SIGUSR1 only set the flag; a second SIGINT ends the program at once.
void catch_stop_signals();
/// The first signal that asked to stop, or 0.
int stop_signal();

}  // namespace linac
