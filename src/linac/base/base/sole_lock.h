#pragma once
// Locks of open files (flock): by them one process alone works in a folder or on a file. A lock is its open file's, so
// a child that inherits the descriptor has it too, and it ends with the last one who has. Thread-safe.

#include <chrono>

namespace linac {

/// A process that is killed while it starts another leaves a child that holds its locks, until that has become the
/// other program. So whoever comes next waits a little before the lock counts as somebody's.
constexpr std::chrono::milliseconds kSoleLockWait{2000};
/// Waits for as long as somebody has it.
constexpr std::chrono::milliseconds kForever = std::chrono::milliseconds::max();

/// Whether this open file is locked for whoever has its description, and for nobody else; errno says why not
/// (EWOULDBLOCK: somebody has it).
bool try_lock_alone(int descriptor);
/// The same; waits for up to `wait` for one that somebody has.
bool lock_alone(int descriptor, std::chrono::milliseconds wait = kSoleLockWait);
void unlock(int descriptor);

/// Whether this open file is locked together with others who look at it so: while that is so, nobody has it alone.
bool try_lock_shared(int descriptor);

}  // namespace linac
