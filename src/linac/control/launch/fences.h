#pragma once
// What the kernel refuses to a command and to all that it starts, whoever it is. Two fences: a filter of system calls
// (seccomp), with which nothing makes namespaces and mounts of its own or reaches the parts of the kernel that
// trainings need not; and Landlock, with which it listens at no TCP port but those that the kernel picks, and reaches
// neither abstract sockets nor, by signals, processes outside. Thread-safe.

#include <string>

#include "linac/base/base/descriptor.h"

namespace linac::launch {

/// The filter in memory, as bwrap reads it (`--seccomp`). Empty (errno) if there is no memory left.
Descriptor call_filter();

/// Puts the same filter up around the calling thread, which has no new privileges (PR_SET_NO_NEW_PRIVS). False (errno)
/// if the kernel does not take it.
bool put_up_call_filter();

/// Puts up Landlock around the calling thread, which has no new privileges (PR_SET_NO_NEW_PRIVS), as far as the kernel
/// has it. False (errno) if the kernel has it and it cannot be put up.
bool put_up_landlock();
/// What a kernel whose Landlock is of this version (0: it has none) does not keep jobs from, as a sentence; "" if all.
std::string lacks_of_landlock(int version);
/// Of this kernel.
int landlock_version();

/// A file in memory alone, to be read from its beginning, above_streams(). Empty (errno) if there is no memory left.
Descriptor in_memory(const std::string& bytes);

}  // namespace linac::launch
