#pragma once
// The process between an attempt's command and everybody else: starts it, waits for it and all that it leaves behind,
// and writes down how it ended. It belongs to no terminal, to no service, and holds next to nothing in memory.

#include <filesystem>

#include <sys/types.h>

namespace linac::launch {

/// Carries out the attempt of this folder (attempt_folder.h) and returns the exit status of the supervisor itself: 0
/// once exit.json is written, 2 if the attempt is being or was carried out by another one, 4 if the folder cannot be
/// used. SIGTERM stops the command: SIGTERM to its process group, SIGKILL after its grace. To be called from main(),
/// with one thread, and no other children. `parent`, if not 0: the process that started this one; when it is gone, the
/// command is stopped as by SIGTERM.
int supervise(const std::filesystem::path& folder, pid_t parent = 0);

}  // namespace linac::launch
