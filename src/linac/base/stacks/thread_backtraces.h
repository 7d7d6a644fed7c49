#pragma once
// The stacks of this process's own threads, each taken by the thread itself in the handler of a real-time signal: the
// only way to see a thread that runs or waits without stopping the process from outside.
//
// The handler is installed with SA_RESTART, so an interrupted read, write, wait for a lock or for a child goes on as if
// nothing had happened. Not so poll, select, epoll_wait, nanosleep and a receive with a time limit of its own: those
// return EINTR, and whoever calls them must call again, as for any signal (signal(7)).

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "linac/base/base/thread_facts.h"

namespace linac::stacks {

/// Newest frame first: addresses within the calls, i.e. the one that runs and then each return address less one. When a
/// thread has no frames, `why_none` says why.
struct Backtrace {
  std::vector<uintptr_t> frames;
  std::string why_none;
};

inline constexpr size_t kFramesMax = 32;

/// The backtraces of these threads of this process, by thread; waits for their answers for at most `wait` in all. One
/// call at a time: the caller sees to that. Threads that have ended meanwhile have no frames and no reason.
std::map<pid_t, Backtrace> own_backtraces(const std::vector<ThreadFacts>& threads, std::chrono::milliseconds wait);

}  // namespace linac::stacks
