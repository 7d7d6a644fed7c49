#pragma once
// What the kernel tells of the threads of a process, without disturbing them (/proc, see proc(5)): the first half of
// the answer to "where does it hang". Reads only; safe from any thread. A fact that cannot be had (another user's
// process, a thread that has ended, a kernel that does not tell) is left empty: nothing here is an error. Takes memory,
// so it may throw std::bad_alloc.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace linac {

struct ThreadFacts {
  pid_t id = 0;
  std::string name;                 // as pthread_setname_np() gave it, at most 15 characters
  char state = '?';                 // the letter of proc(5)
  std::optional<long> system_call;  // its number, while the thread is inside one and not running
  std::string system_call_words;    // e.g. "read of /data/showers.h5", "system call 310"
  std::string kernel_function;      // where in the kernel it waits, e.g. "pipe_read"
  uint64_t blocked_signals = 0;     // bit `signal - 1`
  uint64_t pending_signals = 0;     // those sent to this thread alone
};

/// The threads of a process, in the order of their ids; none if there is no such process.
std::vector<pid_t> thread_ids(pid_t process);

/// Nothing if the thread has ended.
std::optional<ThreadFacts> thread_facts(pid_t process, pid_t thread);

/// One line: `thread 4712 "loader": sleeping, blocked in read of /data/showers.h5 (kernel: folio_wait_bit_common)`.
std::string describe(const ThreadFacts& facts);

/// Whether it only waits for a lock, for time or for whatever comes, as threads do that have nothing to do.
bool is_idle(const ThreadFacts& facts);

/// The functions of the kernel that the thread is in, newest first and at most `lines_max`. Only root may ask.
std::vector<std::string> kernel_stack(pid_t process, pid_t thread, size_t lines_max);

/// How long a thread ran, and how long it was ready to and waited for a processor, in ns: a wait counts once it is over
/// (proc(5), schedstat). Nothing if it has ended, or the kernel does not tell.
struct ProcessorTime {
  int64_t ran = 0, waited = 0;
};
std::optional<ProcessorTime> processor_time(pid_t process, pid_t thread);

/// The content of a small file of /proc; "" if it cannot be read.
std::string proc_text(const std::string& path);

/// Where a link of /proc leads, e.g. /proc/4711/exe; "" if it cannot be read.
std::string proc_link(const std::string& path);

}  // namespace linac
