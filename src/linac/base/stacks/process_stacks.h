#pragma once
// Where a process hangs, in words for the log: of every thread its name, its state, the system call and the file that
// it waits for, and its C++ stack. For a watchdog that has given up waiting; nothing runs until then.
//
// Both functions may be called from any thread; a second caller of own_stacks() waits for the first. They never throw
// and report no error: what cannot be found out is left out or said in a line of the text. A call takes milliseconds,
// and at most two seconds when threads, disks or the dynamic loader do not answer. Of threads with the same stack only
// the first has it in full. Threads that wait for a file or a connection come first, those that wait for work last, as
// a long text may be cut. The text ends with a newline.

#include <sys/types.h>

#include <string>

namespace linac::stacks {

/// Of this process. Each thread is interrupted by a real-time signal and writes its own stack; a thread that blocks
/// signals, or waits for a device, is described without. Reads and writes in progress go on, and so do waits for locks;
/// poll, select, epoll_wait, nanosleep and receives with a time limit return EINTR, as after any signal (signal(7)).
/// Frames are newest first, at most 32: "name (file+offset)", the offset as `addr2line -e FILE` takes it.
std::string own_stacks() noexcept;

/// Of another process of this machine, e.g. a worker halted by SIGSTOP, which stays halted. Needs the right to trace it
/// (the same user, and yama's ptrace_scope); without, the text says so and has no stacks. Root also sees the kernel's
/// stacks. While this runs, no other thread may wait for the process (waitpid). A running process is halted for some
/// milliseconds a thread, and an epoll_wait that this interrupts returns EINTR there.
std::string process_stacks(pid_t process) noexcept;

}  // namespace linac::stacks
