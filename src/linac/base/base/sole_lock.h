#pragma once
// Locks by which one process alone works in a folder or on a file. Thread-safe.

#include <chrono>

namespace linac {

/// A process that is killed while it starts another leaves a child that holds its locks, until that has become the
/// other program. So whoever comes next waits a little before the lock counts as somebody's.
constexpr std::chrono::milliseconds kSoleLockWait{2000};

/// Whether this open file is locked (flock) for whoever has its description, and for nobody else; errno says why not
/// (EWOULDBLOCK: somebody has it). Waits for up to `wait` for one that somebody has.
bool lock_alone(int descriptor, std::chrono::milliseconds wait = kSoleLockWait);

}  // namespace linac
