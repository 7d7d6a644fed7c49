#pragma once
// The stacks of another process's threads, taken from outside with ptrace and libunwind: also those of a process halted
// by SIGSTOP or of a thread that answers no signal. Each thread is halted for the milliseconds that this takes.

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "linac/base/stacks/thread_backtraces.h"

namespace linac::stacks {

/// Calls found(thread, backtrace) for one thread after the other, until the deadline; returns "" or why the kernel lets
/// nobody trace this process. A stopped process stays stopped, and a signal that comes meanwhile is passed on.
///
/// Call it on a thread that ends soon after: a thread of the process that cannot be halted (it waits for a device)
/// stays attached to the caller's thread until that ends, and the kernel then lets it go. May take longer than the
/// deadline when the kernel holds the caller itself, e.g. while it reads a program file from a disk that does not
/// answer. Nobody else in this process may wait for the children (waitpid) meanwhile: he would take the notices of the
/// halts for ends. Beware also that the system calls which a halt interrupts and the kernel does not start again
/// (signal(7): epoll_wait above all) return EINTR there.
std::string traced_backtraces(pid_t process, const std::vector<pid_t>& threads,
                              std::chrono::steady_clock::time_point deadline,
                              const std::function<void(pid_t, const Backtrace&)>& found);

}  // namespace linac::stacks
