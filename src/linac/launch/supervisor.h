#pragma once
// The process between an attempt's command and everybody else: starts it, waits for it and all that it leaves behind,
// and writes down how it ended. It belongs to no terminal, to no service, and holds next to nothing in memory.

#include <filesystem>

namespace linac::launch {

/// Carries out the attempt of this folder (attempt_folder.h) and returns the exit status of the supervisor itself: 0
/// once exit.json is written, 2 if the attempt is being or was carried out by another one, 4 if the folder cannot be
/// used. SIGTERM stops the command: SIGTERM to its process group, SIGKILL after its grace. To be called from main(),
/// with one thread, and no other children.
int supervise(const std::filesystem::path& folder);

}  // namespace linac::launch
